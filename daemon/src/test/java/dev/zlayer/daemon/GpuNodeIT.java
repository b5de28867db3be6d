package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.CommandResult;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.FakeGpuDriver;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** GPUs for clients of Docker, and their figures. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX, Fact.DOCKERD})
class GpuNodeIT {
  @TempDir static Path directory;
  private static FakeGpuDriver driver;
  private static Path root;
  private static OpenNode node;
  private static DockerCli docker;

  @BeforeAll
  static void open() throws Exception {
    root = directory.resolve("host");
    driver = FakeGpuDriver.install(root, "580.159.04", 2);
    node = OpenNode.open(new Node().with("gpu_driver_root", root.toString()));
    docker = new DockerCli(node::dockerSocket, () -> directory.resolve("docker"));
  }

  @AfterAll
  static void close() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  @AfterEach
  void clear() throws Exception {
    if (Files.exists(directory.resolve("away"))) {
      Files.move(directory.resolve("away"), root);
    }
    for (String id : docker.out("ps", "-aq").lines().toList()) {
      docker.run("rm", "-f", id);
    }
  }

  @Test
  void dockersFlagsForGpusAreHonouredAndShown() throws Exception {
    assertThat(devices("--gpus", "all")).isEqualTo("/dev/nvidia0\n/dev/nvidia1");
    assertThat(devices("--gpus", "1")).isEqualTo("/dev/nvidia0");
    assertThat(devices("--gpus", "device=" + FakeGpuDriver.uuid(1))).isEqualTo("/dev/nvidia1");
    assertThat(devices("--gpus", "\"device=0,1\"")).isEqualTo("/dev/nvidia0\n/dev/nvidia1");

    docker.out("create", "--name", "held", "--network", "none", "--gpus", "device=1", Node.IMAGE);
    Json request = deviceRequest("held");
    assertThat(request.at("DeviceIDs").strings()).containsExactly("1");
    assertThat(request.at("Capabilities").items().getFirst().strings()).containsExactly("gpu");
    node.run(
        "own", "sleep 1000", "network_mode", "\"none\"", "resources", "{\"gpu\":{\"count\":1}}");
    assertThat(deviceRequest("own").at("Count").integer()).contains(1L);

    CommandResult more = docker.run("run", "--network", "none", "--gpus", "1", Node.IMAGE, "true");
    assertThat(more.success()).isFalse();
    assertThat(more.stderr()).contains("0 of 2 nvidia.com/gpu devices are free and 1 are wanted");
  }

  @Test
  void optionsOfARequestShareAGpu() throws Exception {
    try (var wire = new DockerWire(node.dockerSocket())) {
      share(wire);
    }
  }

  private static void share(DockerWire wire) throws Exception {
    String body =
        """
        {"Image": "%s", "Cmd": ["true"], "HostConfig": {"NetworkMode": "none", "DeviceRequests": [
          {"Count": 1, "Capabilities": [["gpu"]], "Options": %s}]}}
        """;
    String options = "{\"sharing\":\"time-slice\",\"time_slice\":\"long\"}";
    for (int i = 0; i < 3; i++) {
      wire.post("/containers/create", body.formatted(Node.IMAGE, options)).expect(201);
    }
    assertThat(driver.policies())
        .contains("compute-policy -i " + FakeGpuDriver.uuid(0) + " --set-timeslice=3");
    assertThat(
            wire.post("/containers/create", body.formatted(Node.IMAGE, "{\"colour\":\"red\"}"))
                .expect(400)
                .message())
        .contains("HostConfig.DeviceRequests is not supported: the option 'colour'");
  }

  @Test
  void withoutADriverTheReasonIsSaid() throws Exception {
    Files.move(root, directory.resolve("away"));

    CommandResult refused =
        docker.run("run", "--network", "none", "--gpus", "all", Node.IMAGE, "true");

    assertThat(refused.success()).isFalse();
    assertThat(refused.stderr())
        .contains("is not there")
        .contains("proc/driver/nvidia/version does not exist: load the driver");
    assertThat(node.rest().get("/gpus").expect(200).json().items()).isEmpty();
  }

  @Test
  void metricsHaveTheGpuOfEachContainer() throws Exception {
    String id =
        node.run("busy", "sleep 1000", "network_mode", "\"none\"", "resources", "{\"gpu\":{}}");
    Json container = node.rest().get("/containers/" + id).expect(200).json().at("container");
    long pid = container.at("pid").integer().orElseThrow();
    driver.processAnswer(
        pid + ", 512\n", "# gpu pid type sm command\n0 %d C 42 sleep\n".formatted(pid));

    org.awaitility.Awaitility.await()
        .atMost(java.time.Duration.ofSeconds(30))
        .untilAsserted(
            () ->
                assertThat(node.rest().get("/metrics").expect(200).text())
                    .contains(
                        "zlayer_container_gpu_memory_bytes{container=\"%s\"} 536870912"
                            .formatted(id))
                    .contains("zlayer_container_gpu_percent{container=\"%s\"} 42".formatted(id)));
  }

  private static String devices(String... flags) throws Exception {
    var words = new java.util.ArrayList<>(List.of("run", "--rm", "--network", "none"));
    words.addAll(List.of(flags));
    words.addAll(List.of(Node.IMAGE, "sh", "-c", "ls /dev/nvidia[0-9]"));
    return docker.out(words.toArray(String[]::new));
  }

  private static Json deviceRequest(String container) throws Exception {
    return JsonText.parse(docker.out("inspect", container))
        .items()
        .getFirst()
        .at("HostConfig")
        .at("DeviceRequests")
        .items()
        .getFirst();
  }
}
