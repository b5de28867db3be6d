package dev.zlayer.engine.health;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Container;
import dev.zlayer.spec.value.ExpectedStatus;
import dev.zlayer.testkit.FakeClock;
import dev.zlayer.testkit.fake.FakeRuntime;
import dev.zlayer.testkit.fake.FakeWorld;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class ProberTest {
  private static final Duration SECOND = Duration.ofSeconds(1);
  private final FakeWorld world = new FakeWorld(new FakeClock());
  private final Prober prober = new Prober();

  /** Its ports are those of this machine. */
  private Container container() throws InterruptedException {
    ImageRef image = ImageRef.parse("app:1");
    world.images().add(image);
    Container made =
        new FakeRuntime(world)
            .create(
                ContainerId.of("shop", "web", 1),
                ContainerSpec.of(image).withNetwork(NetworkSpec.of(new NetworkSpec.Mode.Host())));
    made.start();
    return made;
  }

  @Test
  void httpLooksAtTheStatusAndSendsHeaders() throws IOException, InterruptedException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/health",
        exchange -> {
          boolean known = "yes".equals(exchange.getRequestHeaders().getFirst("X-Known"));
          exchange.sendResponseHeaders(known ? 204 : 401, -1);
          exchange.close();
        });
    server.start();
    try {
      String url = "http://localhost:%d/health?deep=1".formatted(server.getAddress().getPort());
      var good = new Probe.Http(url, ExpectedStatus.parse("2xx"), Map.of("X-Known", "yes"));
      var bad = new Probe.Http(url, ExpectedStatus.parse("200"), Map.of());

      assertThat(prober.check(good, container(), SECOND))
          .isEqualTo(new ProbeResult(true, "status 204"));
      assertThat(prober.check(bad, world(), SECOND))
          .isEqualTo(new ProbeResult(false, "status 401 instead of 200"));
    } finally {
      server.stop(0);
    }
  }

  /**
   * Whatever host the address names and wherever the answer refers to, only the container is asked.
   */
  @Test
  void httpAsksTheContainerAloneAndFollowsNoRedirect() throws IOException, InterruptedException {
    var asked = new AtomicInteger();
    HttpServer inside =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    inside.createContext(
        "/",
        exchange -> {
          asked.incrementAndGet();
          exchange.sendResponseHeaders(200, -1);
          exchange.close();
        });
    inside.start();
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          exchange
              .getResponseHeaders()
              .add("Location", "http://127.0.0.1:%d/".formatted(inside.getAddress().getPort()));
          exchange.sendResponseHeaders(302, -1);
          exchange.close();
        });
    server.start();
    try {
      Container checked = container();
      for (String host : List.of("169.254.169.254", "metadata.invalid", "localhost")) {
        String url = "http://%s:%d/".formatted(host, server.getAddress().getPort());
        var probe = new Probe.Http(url, ExpectedStatus.parse("200"), Map.of());
        assertThat(prober.check(probe, checked, SECOND))
            .isEqualTo(new ProbeResult(false, "status 302 instead of 200"));
      }
      assertThat(asked).hasValue(0);
    } finally {
      server.stop(0);
      inside.stop(0);
    }
  }

  private Container world() {
    return new FakeRuntime(world).list().getFirst();
  }

  @Test
  void aServerThatSaysNothingIsNotWaitedForLong() throws IOException, InterruptedException {
    try (var server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      var probe =
          new Probe.Http(
              "http://localhost:" + server.getLocalPort(), ExpectedStatus.parse("200"), Map.of());
      assertThat(prober.check(probe, container(), Duration.ofMillis(50)).output())
          .contains("no answer within");
      assertThat(prober.check(new Probe.Tcp(server.getLocalPort()), world(), SECOND).success())
          .isTrue();
    }
  }

  @Test
  void aClosedPortAndACommandTellWhatTheyFound() throws IOException, InterruptedException {
    int port;
    try (var server = new ServerSocket(0)) {
      port = server.getLocalPort();
    }
    assertThat(prober.check(new Probe.Tcp(port), container(), SECOND).success()).isFalse();

    world.onExec((_, spec) -> new FakeWorld.ExecResult(2, spec.command().getFirst(), " broken"));
    ProbeResult result = prober.check(new Probe.Command(List.of("ready")), world(), SECOND);
    assertThat(result.success()).isFalse();
    assertThat(result.output()).isEqualTo("exit code 2: ready broken");
  }
}
