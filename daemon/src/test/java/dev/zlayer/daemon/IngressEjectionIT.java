package dev.zlayer.daemon;

import static dev.zlayer.daemon.IngressNode.await;
import static dev.zlayer.daemon.IngressNode.status;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A replica that fails while its health check is content, with real HAProxy and containers. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX, Fact.HAPROXY})
class IngressEjectionIT {
  @TempDir private Path flags;
  private IngressNode node;

  @BeforeEach
  void open() throws Exception {
    node = new IngressNode();
    node.up(
        "site",
        """
        web:
          image: IMAGE
          command:
            - sh
            - -c
            - |
              cat > /answer <<'END'
              read -r method path rest
              while read -r line; do
                [ "${#line}" -le 1 ] && break
              done
              status=200
              [ -e "/flags/fail-$(hostname)" ] && status=500
              [ "$path" = /bad ] && status=500
              printf 'HTTP/1.1 %%s x\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n' $status
              END
              touch "/flags/$(hostname)"
              exec nc -ll -p 8080 -e sh /answer
          storage: [{type: bind, source: %s, target: /flags}]
          scale: {mode: manual, replicas: 3}
          health: {check: {type: tcp, port: 8080}, interval: 200ms, timeout: 5s}
          stop_grace_period: 0s
          endpoints:
            - {name: http, protocol: http, port: 8080, host: site.test, eject_failing: 2s}
        """
            .formatted(flags));
    await("three serve", () -> replicas().stream().filter(one -> is(one, "ready")).count() == 3);
  }

  @AfterEach
  void close() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  private List<Json> replicas() throws InterruptedException {
    var answer = node.rest().get("/ingress/services/site/web");
    return answer.status() == 200
        ? answer.json().at("endpoints").items().getFirst().at("replicas").items()
        : List.of();
  }

  private static boolean is(Json replica, String what) {
    return replica.at(what).bool().orElse(false);
  }

  private long ejected() throws InterruptedException {
    return replicas().stream().filter(one -> is(one, "ejected")).count();
  }

  @Test
  void aReplicaThatFailsMoreThanTheOthersIsEjectedAndReturns() throws Exception {
    for (int i = 0; i < 60; i++) {
      assertThat(status(node.get("site.test", "/bad"))).isEqualTo(500);
    }
    long worker = node.worker();
    Path failing;
    try (var files = Files.list(flags)) {
      failing = flags.resolve("fail-" + files.findFirst().orElseThrow().getFileName());
    }

    Files.createFile(failing);
    await(
        "ejected",
        () -> {
          int _ = status(node.get("site.test", "/"));
          return ejected() == 1;
        });
    assertThat(node.rest().get("/events").expect(200).text()).contains("ingress.ejected");
    Files.delete(failing);

    await("returned", () -> ejected() == 0);
    assertThat(node.rest().get("/events").expect(200).text()).contains("ingress.returned");
    for (int i = 0; i < 6; i++) {
      assertThat(status(node.get("site.test", "/"))).isEqualTo(200);
    }
    assertThat(node.worker()).as("without a reload").isEqualTo(worker);
  }
}
