package dev.zlayer.cli.command.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.FakeGpuDriver;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** GPUs by the command line, on a driver whose devices are harmless ones. */
@Timeout(120)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class GpuIT {
  private static final String LIBRARIES = "/usr/local/nvidia/lib64";

  @TempDir static Path directory;
  private static FakeGpuDriver driver;
  private static DaemonFixture daemon;
  private static CliFixture cli;

  @BeforeAll
  static void startADaemon() throws Exception {
    driver = FakeGpuDriver.install(directory.resolve("host"), "580.159.04", 1);
    Files.createDirectories(directory.resolve("etc"));
    Files.writeString(
        directory.resolve("etc/zlayer.yml"), "gpu_driver_root: %s\n".formatted(driver.root()));
    daemon = DaemonFixture.start(directory).withBusybox("bb:1");
    cli = daemon.cli();
  }

  @AfterAll
  static void removeEverything() {
    if (daemon != null) {
      daemon.close();
    }
  }

  @AfterEach
  void removeContainers() {
    daemon.ok("ps", "--all", "--quiet").lines().forEach(id -> cli.run("rm", "-f", id));
  }

  @Test
  void aContainerHasTheDevicesAndTheDriverThatItAskedFor() {
    String script =
        "ls /dev/nvidia0 /dev/nvidiactl /dev/nvidia-uvm; readlink %s/libcuda.so.1;"
            + " test -s %s/libcuda.so && echo library; echo $LD_LIBRARY_PATH; nvidia-smi -L";
    assertThat(
            daemon.ok(
                "run",
                "--rm",
                "--network=none",
                "--gpus=all",
                "--env=LD_LIBRARY_PATH=/mine",
                "bb:1",
                "sh",
                "-c",
                script.formatted(LIBRARIES, LIBRARIES)))
        .isEqualTo(
            """
            /dev/nvidia-uvm
            /dev/nvidia0
            /dev/nvidiactl
            libcuda.so.580.159.04
            library
            /mine:/usr/local/nvidia/lib64
            fake -L
            """);
  }

  @Test
  void aContainerThatAskedForNoneHasNone() {
    assertThat(
            daemon.ok(
                "run",
                "--rm",
                "--network=none",
                "bb:1",
                "sh",
                "-c",
                "ls -d /dev/nvidia* %s 2>/dev/null; env | grep -c NVIDIA; true"
                    .formatted(LIBRARIES)))
        .isEqualTo("0\n");
  }

  @Test
  void aGpuBelongsToOneContainerUnlessItIsShared() {
    daemon.ok("create", "--name=holder", "--network=none", "--gpus=1", "bb:1", "true");

    assertThat(daemon.ok("gpu", "ls")).contains("NVIDIA H200").contains("holder (exclusive)");
    Json gpu = daemon.json("gpu", "ls", "--json").items().getFirst();
    assertThat(gpu.at("uuid").string()).contains(FakeGpuDriver.uuid(0));
    assertThat(gpu.at("source").string()).contains("driver");
    assertThat(gpu.at("used_by").items().getFirst().at("name").string()).contains("holder");
    CliFixture.Result second = cli.run("run", "--network=none", "--gpus=device=0", "bb:1", "true");
    assertThat(second.code()).isNotZero();
    assertThat(second.err()).contains("nvidia.com/gpu=0 belongs to container").contains("holder");

    daemon.ok("rm", "holder");
    daemon.ok("run", "--rm", "--network=none", "--gpus=device=0", "bb:1", "true");
  }

  @Test
  void containersShareByMpsWithLimitsOfTheirOwn() {
    String variables = "env | grep CUDA_MPS | sort; ls /tmp/nvidia-mps/control";
    for (String name : new String[] {"one", "two"}) {
      daemon.ok(
          "create", "--name=" + name, "--network=none", "--gpus=1,sharing=mps", "bb:1", "true");
    }
    assertThat(
            daemon.ok(
                "run",
                "--rm",
                "--network=none",
                "--gpus=device=0,sharing=mps,mps_memory=2Gi,mps_threads=25",
                "bb:1",
                "sh",
                "-c",
                variables))
        .isEqualTo(
            """
            CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25
            CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=2048M
            CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps
            /tmp/nvidia-mps/control
            """);
    Json gpu = daemon.json("inspect", "one").at("gpu");
    assertThat(gpu.at("sharing").at("type").string()).contains("mps");
    assertThat(cli.run("run", "--network=none", "--gpus=all", "bb:1", "true").err())
        .contains("belongs to container");
  }

  @Test
  void aTimeSliceIsAskedOfTheDriver() {
    daemon.ok(
        "run",
        "--rm",
        "--network=none",
        "--gpus=1,sharing=time-slice,time_slice=short",
        "bb:1",
        "true");
    assertThat(driver.policies())
        .contains("compute-policy -i " + FakeGpuDriver.uuid(0) + " --set-timeslice=1");
  }

  @Test
  void statsShowTheGpu() {
    daemon.ok(
        "run", "--detach", "--name=busy", "--network=none", "--gpus=1", "bb:1", "sleep", "1000");
    long pid = daemon.json("inspect", "busy").at("container").at("pid").integer().orElseThrow();
    driver.processAnswer(
        pid + ", 512\n",
        "# gpu pid type sm mem enc dec command\n# Idx # C/G %% %% %% %% name\n0 %d C 42 1 - - sleep\n"
            .formatted(pid));
    driver.gpuAnswer(FakeGpuDriver.uuid(0) + ", 1000, 512, 42\n");

    org.awaitility.Awaitility.await()
        .atMost(java.time.Duration.ofSeconds(30))
        .untilAsserted(
            () ->
                assertThat(daemon.ok("stats", "--no-stream", "busy"))
                    .contains("GPU %")
                    .contains("42.0")
                    .contains("512 MiB"));
    Json reading = daemon.json("stats", "--no-stream", "--json", "busy").items().getFirst();
    assertThat(reading.at("gpu_memory_bytes").integer()).contains(512L << 20);
    assertThat(daemon.ok("gpu", "ls")).contains("42");
  }

  @Test
  void whatCannotBeGivenIsRefusedWithTheReason() {
    assertThat(cli.run("run", "--gpus=some", "bb:1").err())
        .contains("--gpus 'some' is not understood");
    assertThat(cli.run("run", "--gpus=device=0,mps_threads=5", "bb:1").err())
        .contains("resources.gpu.mps_threads")
        .contains("is only for sharing: mps");
    assertThat(cli.run("run", "--network=none", "--gpus=7", "bb:1").err())
        .contains("gpu 7 of nvidia.com/gpu is not there: this host has 0");
    assertThat(cli.run("run", "--network=none", "--gpus=1,vendor=amd", "bb:1").err())
        .contains("amd.com/gpu is not there: no device spec describes one");
  }
}
