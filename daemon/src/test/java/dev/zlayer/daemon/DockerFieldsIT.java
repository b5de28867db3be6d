package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Fields that the suites of Docker's client libraries send, with the effect that they expect. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class DockerFieldsIT {
  @RegisterExtension static final DockerNode node = new DockerNode();

  private static String body(Map<String, ?> more, String... words) {
    var json = Json.object().put("Image", Node.IMAGE).put("Cmd", List.of(words));
    more.forEach(json::put);
    return JsonText.print(json.build());
  }

  /** Runs a container to its end and returns what it printed. */
  private static String output(String name, Map<String, ?> host, String... words) throws Exception {
    String id = node.wire().create(name, body(Map.of("Tty", true, "HostConfig", host), words));
    node.wire().post("/containers/" + id + "/start", "").expect(204);
    node.wire().post("/containers/" + id + "/wait", "").expect(200);
    return node.wire().send("GET", "/containers/" + id + "/logs?stdout=1").text().strip();
  }

  private static Json inspect(String name) throws Exception {
    return node.wire().send("GET", "/containers/" + name + "/json").expect(200).json();
  }

  @Test
  void devicesHaveAnotherPathInsideAndRulesOfTheirOwn() throws Exception {
    Json device =
        Json.object()
            .put("PathOnHost", "/dev/zero")
            .put("PathInContainer", "/dev/nothing")
            .put("CgroupPermissions", "r")
            .build();
    assertThat(
            output(
                "device",
                Map.of("Devices", List.of(device)),
                "sh",
                "-c",
                "head -c 3 /dev/nothing | wc -c"))
        .isEqualTo("3");
    // no driver has this number: who may use it is told that there is no such device
    String make = "mknod /tmp/node c 240 7 && head -c 0 /tmp/node 2>&1";
    assertThat(output("without", Map.of("CapAdd", List.of("MKNOD")), "sh", "-c", make))
        .contains("not permitted");
    Map<String, List<String>> rules =
        Map.of("CapAdd", List.of("MKNOD"), "DeviceCgroupRules", List.of("c 240:* rwm"));
    assertThat(output("with", rules, "sh", "-c", make)).contains("No such device");
    assertThat(inspect("with").at("HostConfig").at("DeviceCgroupRules").strings())
        .containsExactly("c 240:* rwm");
    assertThat(
            node.wire()
                .post(
                    "/containers/create",
                    body(Map.of("HostConfig", Map.of("DeviceCgroupRules", List.of("x"))), "true"))
                .expect(400)
                .message())
        .contains("device rule 'x'");
  }

  @Test
  void whatLibrariesSendIsShownAsDockerShowsIt() throws Exception {
    String volume =
        node.wire()
            .post("/volumes/create", "{}")
            .expect(201)
            .json()
            .at("Name")
            .string()
            .orElseThrow();
    assertThat(volume).hasSize(64);
    String request =
        """
        {"Image": "%s", "Cmd": ["true"], "MacAddress": "02:80:41:ae:fd:7e",
         "Labels": {"none": null, "one": "1"}, "Volumes": {"/anonymous": {}},
         "HostConfig": {"Annotations": {"a.b": "c"}, "Binds": ["%s:/named"]}}
        """
            .formatted(Node.IMAGE, volume);
    node.wire().create("sent", request);
    Json shown = inspect("sent");
    assertThat(shown.at("Config").at("Labels").stringMap())
        .isEqualTo(Map.of("none", "", "one", "1"));
    assertThat(shown.at("Config").at("MacAddress").string()).contains("02:80:41:ae:fd:7e");
    assertThat(shown.at("HostConfig").at("Annotations").stringMap()).isEqualTo(Map.of("a.b", "c"));
    assertThat(shown.at("Mounts").items())
        .extracting(mount -> mount.at("Mode").string().orElseThrow())
        .containsExactlyInAnyOrder("", "z");
    // of a copy without a slash, the path begins at the root
    byte[] archive = TarWriter.archive(List.of(TarEntry.file("copied", "text")));
    node.wire().put("/containers/sent/archive?path=.", archive).expect(200);
    assertThat(node.wire().send("HEAD", "/containers/sent/archive?path=copied").status())
        .isEqualTo(200);
    assertThat(
            node.wire()
                .post(
                    "/containers/create",
                    body(
                        Map.of(
                            "HostConfig",
                            Map.of("Annotations", Map.of("run.oci.keep_original_groups", "1"))),
                        "true"))
                .expect(400)
                .message())
        .contains("HostConfig.Annotations is not supported: run.oci.keep_original_groups");
  }

  @Test
  void theHostNameMayBeThatOfTheHost() throws Exception {
    String host =
        java.nio.file.Files.readString(java.nio.file.Path.of("/proc/sys/kernel/hostname"));
    assertThat(output("uts", Map.of("UTSMode", "host"), "cat", "/proc/sys/kernel/hostname"))
        .isEqualTo(host.strip());
    assertThat(inspect("uts").at("HostConfig").at("UTSMode").string()).contains("host");
    assertThat(output("own", Map.of(), "cat", "/proc/sys/kernel/hostname"))
        .isEqualTo(inspect("own").at("Id").string().orElseThrow().substring(0, 12));
    assertThat(
            node.wire()
                .post(
                    "/containers/create",
                    body(Map.of("HostConfig", Map.of("UTSMode", "mine")), "true"))
                .expect(400)
                .message())
        .contains("invalid UTS mode: mine");
  }

  @Test
  void whatWasAskedForIsShownAgain() throws Exception {
    String id =
        node.wire()
            .post("/networks/create", "{\"Name\": \"open\", \"Attachable\": true}")
            .expect(201)
            .json()
            .at("Id")
            .string()
            .orElseThrow();
    Json network = node.wire().send("GET", "/networks/" + id).expect(200).json();
    assertThat(network.at("Attachable").bool()).contains(true);
    assertThat(network.at("Labels").members()).isEmpty();
    assertThat(
            node.wire()
                .post(
                    "/networks/create",
                    "{\"Name\": \"other\", \"Labels\": {\"com.zlayer.attachable\": \"x\"}}")
                .expect(400)
                .message())
        .contains("label 'com.zlayer.attachable'");
    assertThat(
            node.wire()
                .send("GET", "/networks/bridge")
                .json()
                .at("Created")
                .string()
                .map(Instant::parse)
                .orElseThrow())
        .isAfter(Instant.EPOCH);
    String nodes = dev.zlayer.host.linux.Machine.memoryNodes();
    node.wire()
        .create(
            "bound",
            body(
                Map.of(
                    "HostConfig",
                    Map.of("Binds", List.of("/tmp:/mnt/tmp:rw,z"), "CpusetMems", nodes)),
                "true"));
    assertThat(inspect("bound").at("Mounts").items().getFirst().at("Mode").string())
        .contains("rw,z");
    assertThat(
            node.wire()
                .post(
                    "/containers/create",
                    body(Map.of("HostConfig", Map.of("CpusetMems", "977")), "true"))
                .expect(400)
                .message())
        .contains("HostConfig.CpusetMems is not supported");
  }

  @Test
  void exposedPortsAndVolumesOfARequestAreShown() throws Exception {
    Json none = Json.object().build();
    String id =
        node.wire()
            .create(
                "shown",
                body(
                    Map.of(
                        "ExposedPorts", Map.of("80/tcp", none), "Volumes", Map.of("/data", none)),
                    "true"));
    Json config = inspect(id).at("Config");
    assertThat(config.at("ExposedPorts").members()).containsOnlyKeys("80/tcp");
    assertThat(config.at("Volumes").members()).containsOnlyKeys("/data");
  }

  /** Clients in other languages send all their options twice, or fields of long ago. */
  @Test
  void whatDockerdDoesNotReadChangesNothing() throws Exception {
    String id =
        node.wire()
            .create(
                "twice",
                body(
                    Map.of("name", "twice", "Dns", List.of("8.8.8.8"), "VolumesFrom", List.of()),
                    "sleep",
                    "300"));
    assertThat(inspect(id).at("HostConfig").at("Dns").items()).isEmpty();
    node.wire().post("/containers/twice/start", "").expect(204);
    String exec =
        node.wire()
            .post("/containers/twice/exec", "{\"Cmd\": [\"true\"]}")
            .expect(201)
            .json()
            .at("Id")
            .string()
            .orElseThrow();
    node.wire().post("/exec/" + exec + "/start", "{\"hijack\": true, \"stdin\": true}").expect(200);
    node.wire().post("/volumes/create", "{\"Name\": \"vol\", \"Mountpoint\": \"/x\"}").expect(201);
    assertThat(node.wire().post("/containers/twice/unpause", "").expect(500).message())
        .contains("is not paused");
    assertThat(
            node.wire()
                .post("/containers/create", body(Map.of("Nonsense", "x"), "true"))
                .expect(400)
                .message())
        .contains("Config.Nonsense is not supported: it is unknown");
  }

  @Test
  void anImageGetsTheConfigurationOfTheRequest() throws Exception {
    node.wire().create("source", body(Map.of(), "true"));
    String id =
        node.wire()
            .post(
                "/commit?container=source&repo=localhost/made&tag=1&comment=said",
                """
                {"container": "source", "comment": "said", "Labels": {"a": "b \\"c\\""},
                 "Env": ["X=1"], "Cmd": ["echo", "hi"], "ExposedPorts": {"80/tcp": {}},
                 "WorkingDir": "/tmp", "AttachStdin": true}
                """)
            .expect(201)
            .json()
            .at("Id")
            .string()
            .orElseThrow();
    Json config = node.wire().send("GET", "/images/" + id + "/json").json().at("Config");
    assertThat(config.at("Labels").stringMap()).containsEntry("a", "b \"c\"");
    assertThat(config.at("Env").strings()).contains("X=1");
    assertThat(config.at("Cmd").strings()).containsExactly("echo", "hi");
    assertThat(config.at("ExposedPorts").members()).containsOnlyKeys("80/tcp");
    assertThat(config.at("WorkingDir").string()).contains("/tmp");
    assertThat(
            node.wire()
                .post("/commit?container=source", "{\"OnBuild\": [\"RUN true\"]}")
                .expect(400)
                .message())
        .contains("OnBuild is not supported");
    node.wire().send("DELETE", "/images/localhost/made:1").expect(200);
  }

  @Test
  void aContainerThatIsStartedAgainIsRemovedByForceOnly() throws Exception {
    String id =
        node.wire()
            .create(
                "again",
                body(
                    Map.of("HostConfig", Map.of("RestartPolicy", Map.of("Name", "always"))),
                    "true"));
    node.wire().post("/containers/again/start", "").expect(204);
    node.wire().post("/containers/again/wait", "").expect(200);
    assertThat(node.wire().send("DELETE", "/containers/" + id).expect(409).message())
        .contains("stop the container before removing or force remove");
    node.wire().send("POST", "/containers/again/stop").expect(204);
    node.wire().send("DELETE", "/containers/" + id).expect(204);
  }

  @Test
  void aDriverOfVolumesIsRefusedWhereItWouldBeUsed() throws Exception {
    Map<String, ?> driver = Map.of("VolumeDriver", "foo");
    node.wire().create("none", body(Map.of("HostConfig", driver), "true"));
    assertThat(inspect("none").at("HostConfig").at("VolumeDriver").string()).contains("foo");
    assertThat(
            node.wire()
                .post(
                    "/containers/create",
                    body(
                        Map.of(
                            "HostConfig",
                            Map.of("VolumeDriver", "foo", "Binds", List.of("data:/data"))),
                        "true"))
                .expect(400)
                .message())
        .contains("HostConfig.VolumeDriver is not supported");
  }

  /** As with dockerd: clients look at the one connection when the other one has answered. */
  @Test
  void theOutputIsThereWhenTheWaitForTheEndIsAnswered() throws Exception {
    for (int round = 0; round < 10; round++) {
      String id = node.wire().create("wait" + round, body(Map.of("Tty", true), "seq", "100"));
      try (DockerWire.Raw attached = node.wire().raw()) {
        attached.send(
            "POST /containers/%s/attach?stream=1&stdout=1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n"
                .formatted(id));
        assertThat(attached.head()).contains("101");
        node.wire().post("/containers/" + id + "/start", "").expect(204);
        node.wire().post("/containers/" + id + "/wait", "").expect(200);
        assertThat(attached.arrived()).startsWith("1\r\n").endsWith("\r\n100\r\n");
      }
    }
  }

  /** Who is attached and does not read holds up nobody for long. */
  @Test
  void anAttachedClientThatDoesNotReadDelaysNoWaitForEver() throws Exception {
    String id = node.wire().create("stuck", body(Map.of(), "seq", "400000"));
    try (DockerWire.Raw attached = node.wire().raw()) {
      attached.send(
          "POST /containers/%s/attach?stream=1&stdout=1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n"
              .formatted(id));
      assertThat(attached.head()).contains("101");
      node.wire().post("/containers/" + id + "/start", "").expect(204);
      assertThat(node.wire().post("/containers/" + id + "/wait", "").expect(200).json())
          .isEqualTo(Json.object().put("StatusCode", 0).build());
    }
  }
}
