package dev.zlayer.bench.engine;

import dev.zlayer.bench.Census;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.container.LogSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.container.Resources;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.ExecSession;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/** Our own runtime in this process, as the daemon has it. */
public final class ZlayerEngine implements Engine {
  private static final Duration LIMIT = Duration.ofMinutes(3);
  private static final LogSpec KEEP_ALL = new LogSpec(1L << 30, 2);

  private final ContainerRuntime runtime;
  private final ImageRef image;
  private final NetworkSpec network;
  private final String controlGroup;
  private final Path directory;
  private final String name;
  private final AtomicInteger counter = new AtomicInteger();

  /** On the default bridge, or with loopback only. */
  public ZlayerEngine(ZlayerNode node, ImageRef image, boolean bridge, String controlGroup) {
    this.runtime = node.runtime();
    this.directory = node.directory();
    this.image = image;
    this.network = bridge ? NetworkSpec.DEFAULT : NetworkSpec.NONE;
    this.name = bridge ? "zlayer, bridge" : "zlayer";
    this.controlGroup = controlGroup + "/zlayer";
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public void runTrue() throws Exception {
    Container container = create("t" + counter.incrementAndGet(), List.of("/bin/true"));
    container.start();
    awaitSuccess(container);
    container.remove(false);
  }

  /** The config.json of a container that is made now and stays. */
  public Json template() throws InterruptedException, IOException {
    Container container = create("template", List.of("/bin/true"));
    Path file = ZlayerNode.dirs(directory).container(container.id().runtimeName()).config();
    return JsonText.parse(Files.readAllBytes(file));
  }

  @Override
  public void startSleeper(String name) throws Exception {
    create(name, SLEEP).start();
  }

  @Override
  public void execTrue(String name) throws Exception {
    try (ExecSession session = container(name).exec(ExecSpec.of("/bin/true"))) {
      session.stdout().readAllBytes();
      requireSuccess(session.await(Deadline.after(LIMIT)));
    }
  }

  @Override
  public void remove(String name) throws Exception {
    container(name).remove(true);
  }

  @Override
  public void printLog(String name, long bytes) throws Exception {
    Container container = create(name, Engine.printing(bytes));
    container.start();
    awaitSuccess(container);
  }

  @Override
  public long readLog(String name) throws Exception {
    long bytes = 0;
    try (var reader = container(name).logs(LogQuery.ALL)) {
      for (Optional<LogRecord> line = reader.next(); line.isPresent(); line = reader.next()) {
        bytes += line.get().bytes().length + 1;
      }
    }
    return bytes;
  }

  @Override
  public int list() {
    int alive = 0;
    for (Container container : runtime.list()) {
      alive += container.status().alive() ? 1 : 0;
    }
    return alive;
  }

  @Override
  public Path home() {
    return directory;
  }

  @Override
  public void inspect(String name) {
    if (container(name).inspect() == null) {
      throw new IllegalStateException("nothing told of " + name);
    }
  }

  @Override
  public void stats(String name) throws Exception {
    if (container(name).stats().memoryBytes() <= 0) {
      throw new IllegalStateException("no memory used by " + name);
    }
  }

  /** With all of this process, which also measures. */
  @Override
  public double memory() {
    return Census.ownMemory()
        + Census.memory(line -> line.contains("conmon") && line.contains(directory.toString()));
  }

  private Container create(String name, List<String> command) throws InterruptedException {
    var spec =
        ContainerSpec.of(image)
            .withNetwork(network)
            .withLogs(KEEP_ALL)
            .withProcess(ProcessSpec.DEFAULT.withArgs(command.toArray(String[]::new)))
            .withResources(below(controlGroup));
    return runtime.create(id(name), spec);
  }

  private static Resources below(String controlGroup) {
    Resources usual = Resources.DEFAULT;
    return new Resources(
        usual.cpus(),
        usual.cpuShares(),
        usual.cpuset(),
        usual.memoryBytes(),
        usual.memorySwapBytes(),
        usual.memoryReservationBytes(),
        usual.memorySwappiness(),
        usual.pids(),
        usual.oomScoreAdjust(),
        usual.oomKillDisabled(),
        usual.blockIoWeight(),
        usual.ulimits(),
        Optional.of(controlGroup));
  }

  private Container container(String name) {
    return runtime.find(id(name)).orElseThrow();
  }

  /** The two networks are two services. */
  private ContainerId id(String name) {
    return ContainerId.of(this.name.replaceAll("\\W+", "-"), name, 1);
  }

  private static void awaitSuccess(Container container) throws InterruptedException {
    requireSuccess(container.await(WaitCondition.NOT_RUNNING, Deadline.after(LIMIT)).status());
  }

  private static void requireSuccess(ExitStatus status) {
    if (!status.equals(new ExitStatus.Code(0))) {
      throw new IllegalStateException("ended with " + status);
    }
  }

  @Override
  public void close() {
    // the node is closed by its owner: several engines share it
  }
}
