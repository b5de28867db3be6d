package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A socket for clients of Docker that may not have everything. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class DockerAllowIT {
  private static String body(String... words) {
    return JsonText.print(
        Json.object().put("Image", Node.IMAGE).put("Cmd", List.of(words)).build());
  }

  private static String body(Map<String, ?> more, String... words) {
    var json = Json.object().put("Image", Node.IMAGE).put("Cmd", List.of(words));
    more.forEach(json::put);
    return JsonText.print(json.build());
  }

  @Test
  void theOperatorForbidsWhatReachesBeyondAContainer(@TempDir Path dir) throws Exception {
    try (var strict = new Node().with("docker_allow", "none");
        var daemon = strict.daemon();
        var rest = strict.rest();
        var client =
            new DockerWire(strict.configured().config().dockerSocketPath().orElseThrow())) {
      Node.loadImage(rest);
      for (Map<String, ?> host :
          List.of(
              Map.of("Privileged", true),
              Map.of("Binds", List.of(dir + ":/x")),
              Map.of("CapAdd", List.of("SYS_ADMIN")),
              Map.of("NetworkMode", "host"),
              Map.of("UsernsMode", "host"),
              Map.of("SecurityOpt", List.of("apparmor=another")),
              Map.of("CgroupParent", "/"),
              Map.of("OomScoreAdj", -500),
              Map.of("PidMode", "host"))) {
        assertThat(
                client
                    .post("/containers/create", body(Map.of("HostConfig", host)))
                    .expect(403)
                    .message())
            .contains("docker_allow");
      }
      assertThat(client.post("/build?networkmode=host", "").expect(403).message())
          .contains("docker_allow");
      client.create("plain", body("true"));
      assertThat(daemon.agent().runtime().list()).hasSize(1);
      assertNoWayThroughOthers(client, rest);
    }
  }

  /** What others have would be as good as to have it oneself. */
  private static void assertNoWayThroughOthers(DockerWire client, Rest rest) throws Exception {
    rest.put(
            "/deployments/own?directory=/",
            """
            version: v1
            deployment: own
            services:
              db:
                image: {name: IMAGE, pull_policy: never}
                command: [sleep, "300"]
                stop_grace_period: 0s
                storage: [{type: named, name: precious, target: /data}]
              other:
                image: {name: IMAGE, pull_policy: never}
                scale: {mode: manual, replicas: 0}
                storage: [{type: named, name: later, target: /data}]
            """
                .replace("IMAGE", Node.IMAGE)
                .getBytes(StandardCharsets.UTF_8))
        .expect(202);
    try {
      Awaitility.await()
          .atMost(Duration.ofSeconds(60))
          .until(() -> client.send("GET", "/containers/own-db-1/json").status() == 200);
      String name = "/containers/own-db-1";
      String file = "/archive?path=/etc/passwd";
      List<DockerWire.Reply> tried =
          List.of(
              client.post(name + "/exec", "{\"Cmd\":[\"true\"]}"),
              client.send("GET", name + file),
              client.send("HEAD", name + file),
              client.put(name + "/archive?path=/tmp", new byte[1024]),
              client.send("GET", name + "/export"),
              client.post("/commit?container=own-db-1", "{}"),
              client.post(
                  "/containers/create",
                  body(Map.of("HostConfig", Map.of("PidMode", "container:own-db-1")), "true")),
              client.post(
                  "/containers/create",
                  body(Map.of("HostConfig", Map.of("NetworkMode", "container:own-db-1")), "true")),
              client.post(
                  "/containers/create",
                  body(Map.of("HostConfig", Map.of("IpcMode", "container:own-db-1")), "true")),
              client.post(
                  "/containers/create",
                  body(Map.of("HostConfig", Map.of("NetworkMode", "d_own")), "true")),
              client.post(
                  "/containers/create",
                  body(
                      Map.of(
                          "NetworkingConfig", Map.of("EndpointsConfig", Map.of("d_own", Map.of()))),
                      "true")),
              client.post("/networks/d_own/connect", "{\"Container\":\"plain\"}"),
              client.post("/networks/d_own/disconnect", "{\"Container\":\"own-db-1\"}"),
              client.post(
                  "/containers/create",
                  body(Map.of("HostConfig", Map.of("VolumesFrom", List.of("own-db-1"))), "true")),
              client.post(
                  "/containers/create",
                  body(Map.of("HostConfig", Map.of("Binds", List.of("precious:/x"))), "true")),
              client.post(
                  "/containers/create",
                  body(Map.of("HostConfig", Map.of("Binds", List.of("later:/x"))), "true")));
      assertThat(tried).extracting(DockerWire.Reply::status).containsOnly(403);
      assertThat(tried.getFirst().message()).contains("docker_allow");
    } finally {
      rest.delete("/deployments/own?wait=60s").expect(200);
    }
  }
}
