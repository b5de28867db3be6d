package dev.zlayer.runtime.oci.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.GpuRequest;
import dev.zlayer.container.GpuRequest.Sharing;
import dev.zlayer.container.Stats;
import dev.zlayer.error.AgentException;
import dev.zlayer.runtime.oci.config.BundleInput;
import dev.zlayer.runtime.oci.config.DeviceNode;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.KeyedLock;
import dev.zlayer.task.Pauses;
import dev.zlayer.testkit.FakeGpuDriver;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** GPUs on a host that looks like one with a driver and without any tool of the vendor. */
class GpusTest {
  private static final Sharing EXCLUSIVE = new Sharing.Exclusive();

  @TempDir Path directory;
  private final List<GpuUse> uses = new CopyOnWriteArrayList<>();
  private FakeGpuDriver driver;
  private Gpus gpus;

  @BeforeEach
  void open() {
    driver = FakeGpuDriver.install(directory.resolve("host"), "580.159.04", 2);
    gpus = open(directory.resolve("host"));
  }

  private Gpus open(Path root) {
    return Gpus.open(
        new Gpus.Parts(
            List.of(directory.resolve("vendor")),
            root,
            directory.resolve("data"),
            directory.resolve("run"),
            new KeyedLock<>(),
            () -> List.copyOf(uses),
            InstantSource.system(),
            Pauses.REAL));
  }

  @AfterEach
  void close() {
    uses.clear();
    gpus.changed();
    await(() -> !Files.exists(directory.resolve("run/started")));
    gpus.close();
  }

  @Test
  void theDriversFilesAreDescribedAsCdi() throws Exception {
    GpuWiring.Wired wired = wire("web", 1, List.of(), EXCLUSIVE);

    assertThat(wired.names()).containsExactly("nvidia.com/gpu=0");
    assertThat(wired.devices())
        .extracting(DeviceNode::path)
        .containsExactly("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm");
    assertThat(wired.extra().env()).containsEntry("LD_LIBRARY_PATH", "/usr/local/nvidia/lib64");
    assertThat(wired.extra().hooks()).isEmpty();
    assertThat(wired.extra().binds())
        .allMatch(BundleInput.Bind::readOnly)
        .extracting(BundleInput.Bind::target)
        .contains(
            "/usr/local/nvidia/lib64",
            "/usr/local/nvidia/lib64/libcuda.so.580.159.04",
            "/usr/local/nvidia/lib64/libnvidia-ml.so.580.159.04",
            "/usr/bin/nvidia-smi",
            "/usr/bin/nvidia-cuda-mps-control");
    Path links = directory.resolve("data/driver-580.159.04/lib64");
    assertThat(Files.readSymbolicLink(links.resolve("libcuda.so.1")))
        .hasToString("libcuda.so.580.159.04");
    assertThat(Files.readSymbolicLink(links.resolve("libcuda.so")))
        .hasToString("libcuda.so.580.159.04");
  }

  @Test
  void theDescriptionFollowsTheDriver() throws Exception {
    wire("web", 1, List.of(), EXCLUSIVE);
    Path spec = directory.resolve("data/cdi/nvidia.json");
    assertThat(spec).content().contains("580.159.04");

    driver.update("590.10");
    uses.clear();
    GpuWiring.Wired wired = wire("web", 1, List.of(), EXCLUSIVE);

    assertThat(spec).content().contains("590.10").doesNotContain("580.159.04");
    assertThat(wired.extra().binds())
        .extracting(BundleInput.Bind::target)
        .contains("/usr/local/nvidia/lib64/libcuda.so.590.10")
        .noneMatch(target -> target.contains("580.159.04"));
  }

  @Test
  void whatAContainerWasMadeWithAndIsNotThereAnyMoreIsNamedWhenItStarts() throws Exception {
    GpuWiring.Wired wired = wire("web", 1, List.of(), EXCLUSIVE);
    List<Path> sources = wired.extra().binds().stream().map(BundleInput.Bind::source).toList();
    gpus.beforeStart(uses.getFirst(), sources);

    driver.update("590.10");

    assertThatThrownBy(() -> gpus.beforeStart(uses.getFirst(), sources))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("the driver has changed; make the container again");
  }

  @Test
  void aDescriptionOfTheVendorIsPreferredUnlessItIsStale() throws Exception {
    Path file = directory.resolve("vendor/nvidia.yaml");
    Files.createDirectories(file.getParent());
    String text =
        """
        cdiVersion: 0.5.0
        kind: nvidia.com/gpu
        devices:
        - name: "0"
          containerEdits: {deviceNodes: [{path: /dev/vendor0, hostPath: /dev/null}]}
        - name: GPU-1234
          containerEdits: {deviceNodes: [{path: /dev/vendor0, hostPath: /dev/null}]}
        containerEdits: {mounts: [{hostPath: %s, containerPath: /lib/libcuda.so.1}]}
        """;
    Files.writeString(file, text.formatted("/etc/passwd"));

    assertThat(gpus.list())
        .as("a device with two names is one device")
        .extracting(Gpus.Listed::name, Gpus.Listed::source)
        .containsExactly(org.assertj.core.groups.Tuple.tuple("0", "vendor"));
    assertThat(wire("web", 1, List.of("GPU-1234"), EXCLUSIVE).names())
        .containsExactly("nvidia.com/gpu=0");

    Files.writeString(file, text.formatted("/usr/lib/libcuda.so.535.1"));
    assertThat(gpus.list())
        .extracting(Gpus.Listed::name, Gpus.Listed::source)
        .containsExactly(
            org.assertj.core.groups.Tuple.tuple("0", "driver"),
            org.assertj.core.groups.Tuple.tuple("1", "driver"));
  }

  @Test
  void devicesAreChosenByNumberNameAndUuid() throws Exception {
    assertThat(wire("one", 1, List.of("1"), EXCLUSIVE).names()).containsExactly("nvidia.com/gpu=1");
    assertThatThrownBy(() -> wire("two", 1, List.of(FakeGpuDriver.uuid(1)), EXCLUSIVE))
        .isInstanceOf(AgentException.GpuSharingUnavailable.class)
        .hasMessageContaining("nvidia.com/gpu=1 belongs to container")
        .hasMessageContaining("one");
    assertThatThrownBy(() -> wire("all", 1, List.of("all"), EXCLUSIVE))
        .isInstanceOf(AgentException.GpuSharingUnavailable.class);
    uses.clear();
    assertThat(wire("all", 1, List.of("all"), EXCLUSIVE).names())
        .containsExactly("nvidia.com/gpu=0", "nvidia.com/gpu=1");
    assertThatThrownBy(() -> wire("odd", 1, List.of("7"), EXCLUSIVE))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("nvidia.com/gpu=7 is not there: this host has 0, 1");
  }

  @Test
  void nobodyGetsAloneWhatOthersShare() throws Exception {
    wire("shared", 1, List.of("0"), slice(Optional.empty()));
    assertThat(wire("second", 1, List.of("0"), slice(Optional.empty())).names())
        .containsExactly("nvidia.com/gpu=0");
    assertThatThrownBy(() -> wire("alone", 1, List.of("0"), EXCLUSIVE))
        .isInstanceOf(AgentException.GpuSharingUnavailable.class)
        .hasMessageContaining("time-slice");
    assertThat(wire("alone", 1, List.of(), EXCLUSIVE).names()).containsExactly("nvidia.com/gpu=1");
    assertThatThrownBy(() -> wire("third", 1, List.of("1"), slice(Optional.empty())))
        .isInstanceOf(AgentException.GpuSharingUnavailable.class)
        .hasMessageContaining("exclusive");
  }

  @Test
  void partsOfADividedGpuAreDevicesOfTheirOwn() throws Exception {
    driver.divide(0);

    assertThat(gpus.list()).extracting(Gpus.Listed::name).containsExactly("1", "0:0", "0:1");
    GpuWiring.Wired wired = wire("part", 1, List.of("0:1"), EXCLUSIVE);
    assertThat(wired.devices())
        .extracting(DeviceNode::path)
        .contains("/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap20", "/dev/nvidia-caps/nvidia-cap21")
        .doesNotContain("/dev/nvidia1", "/dev/nvidia-caps/nvidia-cap10");
    assertThat(wire("other", 1, List.of("0:0"), EXCLUSIVE).names())
        .containsExactly("nvidia.com/gpu=0:0");
    assertThatThrownBy(
            () -> wire("timed", 1, List.of("0:1"), slice(Optional.of(Sharing.Turn.LONG))))
        .isInstanceOf(AgentException.GpuSharingUnavailable.class);
  }

  @Test
  void withoutADriverTheReasonIsSaid() throws Exception {
    gpus.close();
    gpus = open(directory.resolve("bare"));

    assertThat(gpus.list()).isEmpty();
    assertThatThrownBy(() -> wire("web", 1, List.of(), EXCLUSIVE))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("gpu 1 of nvidia.com/gpu is not there")
        .hasMessageContaining("proc/driver/nvidia/version does not exist: load the driver");
  }

  @Test
  void librariesOfAnotherVersionThanTheModuleAreNamed() throws Exception {
    Files.writeString(
        driver.root().resolve("proc/driver/nvidia/version"),
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  599.1.2  Thu\n");

    assertThatThrownBy(() -> wire("web", 1, List.of(), EXCLUSIVE))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("libcuda.so.599.1.2 is not found");
  }

  @Test
  void anMpsDaemonIsStartedKeptRunningAndEnded() throws Exception {
    var mps =
        new Sharing.Mps(
            Optional.empty(), Optional.empty(), OptionalLong.of(2L << 30), OptionalInt.of(25));

    GpuWiring.Wired wired = wire("first", 1, List.of("0"), mps);

    Path pipes = directory.resolve("run/pipe");
    assertThat(MpsControl.obstacle(pipes)).isEmpty();
    assertThat(wired.extra().env())
        .containsEntry("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")
        .containsEntry("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=2048M")
        .containsEntry("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "25");
    assertThat(wired.extra().binds())
        .contains(new BundleInput.Bind(pipes, "/tmp/nvidia-mps", true));
    long first = daemon(pipes);
    wire("second", 1, List.of("0"), mps);
    assertThat(daemon(pipes)).as("one serves all").isEqualTo(first);

    ProcessHandle.of(first).orElseThrow().destroyForcibly();
    await(() -> MpsControl.obstacle(pipes).isEmpty() && daemon(pipes) != first);

    long second = daemon(pipes);
    uses.clear();
    gpus.changed();
    await(() -> ProcessHandle.of(second).filter(ProcessHandle::isAlive).isEmpty());
    await(() -> MpsControl.obstacle(pipes).isPresent());
  }

  @Test
  void anMpsDaemonThatRunsAtTheUsualPlaceIsUsed() throws Exception {
    Path usual = Files.createDirectories(driver.root().resolve("tmp/nvidia-mps"));
    try (var daemon =
        java.nio.channels.ServerSocketChannel.open(java.net.StandardProtocolFamily.UNIX)) {
      daemon.bind(java.net.UnixDomainSocketAddress.of(usual.resolve("control")));
      var mps =
          new Sharing.Mps(
              Optional.empty(), Optional.empty(), OptionalLong.empty(), OptionalInt.empty());

      assertThat(wire("web", 1, List.of(), mps).extra().binds())
          .contains(new BundleInput.Bind(usual, "/tmp/nvidia-mps", true));
      assertThat(directory.resolve("run/started")).doesNotExist();
    }
  }

  @Test
  void aLinkAtTheUsualPlaceIsNotMounted() throws Exception {
    Path elsewhere = Files.createDirectories(directory.resolve("elsewhere"));
    Path usual = driver.root().resolve("tmp/nvidia-mps");
    Files.createDirectories(usual.getParent());
    Files.createSymbolicLink(usual, elsewhere);
    try (var daemon =
        java.nio.channels.ServerSocketChannel.open(java.net.StandardProtocolFamily.UNIX)) {
      daemon.bind(java.net.UnixDomainSocketAddress.of(elsewhere.resolve("control")));
      var mps =
          new Sharing.Mps(
              Optional.empty(), Optional.empty(), OptionalLong.empty(), OptionalInt.empty());

      assertThat(wire("web", 1, List.of(), mps).extra().binds())
          .contains(new BundleInput.Bind(directory.resolve("run/pipe"), "/tmp/nvidia-mps", true));
    }
  }

  @Test
  void anMpsDaemonThatCannotStartIsAnError() throws Exception {
    Files.writeString(
        driver.root().resolve("usr/bin/nvidia-cuda-mps-control"),
        "#!/bin/sh\necho 'no permission' >&2\nexit 3\n");
    var mps =
        new Sharing.Mps(
            Optional.empty(), Optional.empty(), OptionalLong.empty(), OptionalInt.empty());

    assertThatThrownBy(() -> wire("web", 1, List.of(), mps))
        .isInstanceOf(AgentException.GpuSharingUnavailable.class)
        .hasMessageContaining("exited with 3")
        .hasMessageContaining("no permission");

    Files.delete(driver.root().resolve("usr/bin/nvidia-cuda-mps-control"));
    assertThatThrownBy(() -> wire("web", 1, List.of(), mps))
        .isInstanceOf(AgentException.GpuSharingUnavailable.class)
        .hasMessageContaining("nvidia-cuda-mps-control is not installed");
  }

  @Test
  void timeSlicesAreSetAndPutBack() throws Exception {
    wire("long", 1, List.of("1"), slice(Optional.of(Sharing.Turn.LONG)));
    String gpu = FakeGpuDriver.uuid(1);
    assertThat(driver.policies())
        .containsExactly("compute-policy -i " + gpu + " --set-timeslice=3");
    assertThatThrownBy(() -> wire("short", 1, List.of("1"), slice(Optional.of(Sharing.Turn.SHORT))))
        .isInstanceOf(AgentException.GpuSharingUnavailable.class)
        .hasMessageContaining("has slices of the length long for container");

    uses.clear();
    gpus.changed();
    await(() -> driver.policies().size() > 1);
    assertThat(driver.policies())
        .last()
        .isEqualTo("compute-policy -i " + gpu + " --set-timeslice=0");
  }

  @Test
  void aTimeSliceThatTheDriverRefusesIsAnError() throws Exception {
    Files.writeString(
        driver.root().resolve("usr/bin/nvidia-smi"), "#!/bin/sh\necho 'Not Supported'\nexit 3\n");

    assertThatThrownBy(() -> wire("web", 1, List.of("1"), slice(Optional.of(Sharing.Turn.LONG))))
        .isInstanceOf(AgentException.GpuSharingUnavailable.class)
        .hasMessageContaining("nvidia-smi cannot set the time slice")
        .hasMessageContaining("Not Supported");
    assertThat(directory.resolve("data/time-slices.json")).content().isEqualTo("{}");
  }

  @Test
  void theUseOfGpusIsReadByProcess() {
    driver.processAnswer(
        "100, 1002\n101, 66\n102, 1000\n",
        """
        # gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command
        # Idx           #    C/G      %      %      %      %      %      %    name
            0        100     C     60     22      -      -      -      -    python3
            0        101     C     30     22      -      -      -      -    other
            0        103     C      -      -      -      -      -      -    idle
            0        102   M+C      -      -      -      -      -      -    python3
            1          -     -      -      -      -      -      -      -    -
        """);

    assertThat(gpus.usage(List.of(1L, 100L, 101L)))
        .contains(new Stats.Gpu(1068L << 20, OptionalDouble.of(90)));
    assertThat(gpus.usage(List.of(102L)))
        .as("the driver does not count the load of clients of MPS")
        .contains(new Stats.Gpu(1000L << 20, OptionalDouble.empty()));
    assertThat(gpus.usage(List.of(103L))).contains(new Stats.Gpu(0, OptionalDouble.of(0)));
    assertThat(gpus.usage(List.of(7L))).contains(new Stats.Gpu(0, OptionalDouble.of(0)));
  }

  @Test
  void theListShowsWhatGpusDoAndForWhom() throws Exception {
    driver.gpuAnswer(FakeGpuDriver.uuid(0) + ", 143771, 1003, 97\n");
    wire("web", 1, List.of("0"), EXCLUSIVE);

    Gpus.Listed gpu = gpus.list().getFirst();

    assertThat(gpu.model()).contains("NVIDIA H200");
    assertThat(gpu.memoryBytes()).hasValue(143771L << 20);
    assertThat(gpu.memoryUsedBytes()).hasValue(1003L << 20);
    assertThat(gpu.percent()).hasValue(97);
    assertThat(gpu.uses()).singleElement().extracting(GpuUse::container).isEqualTo(id("web"));
  }

  private static Sharing.TimeSlice slice(Optional<Sharing.Turn> turn) {
    return new Sharing.TimeSlice(OptionalInt.empty(), Optional.empty(), turn);
  }

  private GpuWiring.Wired wire(String name, int count, List<String> devices, Sharing sharing)
      throws InterruptedException {
    var request = new GpuRequest(count, "nvidia", Optional.empty(), devices, sharing);
    return gpus.wire(request, wired -> uses.add(new GpuUse(id(name), request, wired.names())));
  }

  private static ContainerId id(String service) {
    return ContainerId.of("shop", service, 1);
  }

  private static long daemon(Path pipes) {
    try {
      String pid = Files.readString(pipes.resolve("nvidia-cuda-mps-control.pid")).strip();
      return pid.isEmpty() ? 0 : Long.parseLong(pid);
    } catch (IOException _) {
      return 0;
    }
  }

  private static void await(BooleanSupplier condition) {
    Deadline deadline = Deadline.after(Duration.ofSeconds(30));
    while (!condition.getAsBoolean()) {
      assertThat(deadline.passed()).as("in time").isFalse();
      try {
        Pauses.REAL.pause(Duration.ofMillis(20));
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }
}
