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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A daemon that its environment sends through a proxy, to a real registry. */
@Timeout(120)
@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.DOCKER_REGISTRY,
  Fact.BUSYBOX
})
class ForwardProxyIT {
  private Node node;
  private LocalRegistry registry;
  private ForwardProxy proxy;
  private int port;

  @BeforeEach
  void open() throws Exception {
    node = new Node().with("network_pool", "0");
    registry = LocalRegistry.start();
    registry.push(ImageMaker.busybox(), "app:v1");
    port = Integer.parseInt(registry.host().split(":", 2)[1]);
    proxy = new ForwardProxy(port, Optional.empty());
    Path etc = Files.createDirectories(node.directory.resolve("etc"));
    Files.writeString(
        etc.resolve("registries.json"),
        "{\"hosts\":{\"registry.test:%d\":{\"plainHttp\":true}}}".formatted(port));
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
      Rest.Reply reply =
          rest.post(
              "/images/pull",
              "{\"policy\":\"always\",\"ref\":\"registry.test:%d/app:v1\"}".formatted(port));
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
    assertThat(registry.requests())
        .anyMatch(request -> request.path().contains("/v2/app/blobs/") && request.status() == 200);
  }

  @Test
  void aHostThatNeedsNoProxyIsAskedItself() throws Exception {
    Rest.Reply reply = pull(true, Map.of("NO_PROXY", "elsewhere.test,registry.test"));

    assertThat(reply.status()).as(reply.text()).isEqualTo(200);
    assertThat(proxy.seen()).isEmpty();
    assertThat(registry.requests())
        .anyMatch(request -> request.path().contains("/v2/app/blobs/") && request.status() == 200);
  }

  @Test
  void withoutNoProxyAlsoAHostThatCouldBeReachedIsAskedThroughTheProxy() throws Exception {
    Rest.Reply reply = pull(true, Map.of("NO_PROXY", "elsewhere.test"));

    assertThat(reply.status()).as(reply.text()).isEqualTo(200);
    assertThat(proxy.seen()).isNotEmpty();
  }
}
