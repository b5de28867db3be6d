package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.registry.ForwardProxy;
import dev.zlayer.testkit.registry.LocalRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A daemon that its environment sends through a proxy, to a real registry. */
@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.DOCKER_REGISTRY,
  Fact.OPENSSL,
  Fact.BUSYBOX
})
class ForwardProxyIT {
  private static final String LOGIN = "Basic YW5uOnBAc3M="; // ann:p@ss

  private Node node;
  private LocalRegistry registry;
  private ForwardProxy proxy;
  private int port;

  @BeforeEach
  void open() throws Exception {
    node = new Node().with("network_pool", "0");
    serve(LocalRegistry.Options.DEFAULT, Optional.empty());
    Path etc = Files.createDirectories(node.directory.resolve("etc"));
    Files.writeString(
        etc.resolve("registries.json"),
        "{\"hosts\":{\"registry.test:%d\":{\"plainHttp\":true}}}".formatted(port));
  }

  private void serve(LocalRegistry.Options options, Optional<String> login) throws Exception {
    registry = LocalRegistry.start(options);
    registry.push(ImageMaker.busybox(), "app:v1");
    port = Integer.parseInt(registry.host().split(":", 2)[1]);
    proxy = new ForwardProxy(port, login);
  }

  @AfterEach
  void close() throws Exception {
    proxy.close();
    registry.close();
    node.close();
  }

  /** {@code known}: the name of the registry can be resolved by the daemon. */
  private Rest.Reply pull(boolean known, Map<String, String> more) throws Exception {
    var env = new HashMap<String, String>();
    env.put("HTTP_PROXY", "http://127.0.0.1:" + proxy.port());
    if (known) {
      Path hosts = Files.writeString(node.directory.resolve("hosts"), "127.0.0.1 registry.test\n");
      env.put("JAVA_TOOL_OPTIONS", "-Djdk.net.hosts.file=" + hosts);
    }
    env.putAll(more);
    try (ChildDaemon _ = ChildDaemon.start(node, env);
        Rest rest = node.rest()) {
      Rest.Reply reply = pull(rest, "registry.test");
      if (reply.status() == 200) {
        assertThat(rest.get("/images").expect(200).text()).contains("registry.test:" + port);
      }
      return reply;
    }
  }

  @Test
  void whatOnlyTheProxyReachesIsPulledThroughIt() throws Exception {
    Rest.Reply reply = pull(false, Map.of());

    assertThat(reply.status()).as(reply.text()).isEqualTo(200);
    assertThat(proxy.seen())
        .isNotEmpty()
        .allMatch(seen -> seen.line().startsWith("GET http://registry.test:" + port + "/v2/"));
    awaitBlob();
  }

  @Test
  void aHostThatNeedsNoProxyIsAskedItself() throws Exception {
    Rest.Reply reply = pull(true, Map.of("NO_PROXY", "elsewhere.test,registry.test"));

    assertThat(reply.status()).as(reply.text()).isEqualTo(200);
    assertThat(proxy.seen()).isEmpty();
    awaitBlob();
  }

  /** The proxy only passes bytes: the certificate that is checked is the registry's. */
  @Test
  void aRegistryWithTlsIsReachedThroughATunnel() throws Exception {
    proxy.close();
    registry.close();
    serve(LocalRegistry.Options.DEFAULT.withTls("registry.test"), Optional.of(LOGIN));
    Map<String, String> env = Map.of("HTTPS_PROXY", "http://ann:p%40ss@127.0.0.1:" + proxy.port());

    Files.writeString(
        node.directory.resolve("etc/registries.json"),
        "{\"hosts\":{\"registry.test:%d\":{\"caFile\":\"%s\"}}}"
            .formatted(port, registry.certificate()));

    try (ChildDaemon _ = ChildDaemon.start(node, env);
        Rest rest = node.rest()) {
      // the same registry by another name, whose certificate nobody vouches for
      assertThat(pull(rest, "other.test").text())
          .contains("no secure connection to https://other.test:" + port + " through proxy")
          .doesNotContain("ann:", "p@ss", "p%40ss");
      assertThat(registry.requests()).noneMatch(ForwardProxyIT::blob);
      Rest.Reply reply = pull(rest, "registry.test");
      assertThat(reply.status()).as(reply.text()).isEqualTo(200);
    }
    awaitBlob();
    assertThat(proxy.seen())
        .anyMatch(seen -> seen.line().startsWith("CONNECT registry.test:" + port + " "))
        .allSatisfy(
            seen -> {
              assertThat(seen.line()).startsWith("CONNECT ");
              assertThat(seen.authorization()).contains(LOGIN);
            });
  }

  private Rest.Reply pull(Rest rest, String host) throws InterruptedException {
    return rest.post(
        "/images/pull", "{\"policy\":\"always\",\"ref\":\"%s:%d/app:v1\"}".formatted(host, port));
  }

  /** A registry logs a request after its answer. */
  private void awaitBlob() {
    Awaitility.await().until(() -> registry.requests().stream().anyMatch(ForwardProxyIT::blob));
  }

  private static boolean blob(LocalRegistry.Request request) {
    return request.method().equals("GET")
        && request.path().contains("/v2/app/blobs/")
        && request.status() == 200;
  }

  @Test
  void withoutNoProxyAlsoAHostThatCouldBeReachedIsAskedThroughTheProxy() throws Exception {
    Rest.Reply reply = pull(true, Map.of("NO_PROXY", "elsewhere.test"));

    assertThat(reply.status()).as(reply.text()).isEqualTo(200);
    assertThat(proxy.seen()).isNotEmpty();
  }
}
