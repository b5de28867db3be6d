package dev.zlayer.runtime.docker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.FileSystemSpec;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.container.Mount;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.container.Resources;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Attachable;
import dev.zlayer.port.Container;
import dev.zlayer.port.ImageArchives;
import dev.zlayer.port.Updatable;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.docker.DockerEngine;
import dev.zlayer.testkit.image.ImageMaker;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the contract does not ask, on a real engine. */
@Requires({Fact.ROOT, Fact.DOCKERD, Fact.BUSYBOX, Fact.OVERLAYFS})
class DockerIT {
  private static final ImageRef BUSYBOX = ImageRef.parse("localhost/busybox:test");
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final AtomicInteger COUNTER = new AtomicInteger();
  private static DockerEngine engine;
  private static DockerRuntime runtime;

  @BeforeAll
  static void open() throws Exception {
    engine = DockerEngine.start();
    runtime = DockerRuntime.open(settings("it"));
    var image = ImageMaker.busybox().cmd("sh").env("FROM", "image").stopSignal("SIGUSR1").make();
    byte[] archive = image.dockerArchive("localhost/busybox:test");
    assertThat(((ImageArchives) runtime.images()).load(new ByteArrayInputStream(archive)))
        .singleElement()
        .satisfies(info -> assertThat(info.references()).containsExactly(BUSYBOX));
  }

  @AfterAll
  static void close() {
    runtime.close();
    engine.close();
  }

  @AfterEach
  void removeAll() throws InterruptedException {
    for (Container container : runtime.list()) {
      container.remove(true);
    }
  }

  @Test
  void environmentVolumesAndLimitsAreSeenInside(@TempDir Path directory) throws Exception {
    Files.writeString(directory.resolve("note"), "from the host");
    var spec =
        script(
                "echo $FROM $OWN; cat /bound/note; echo; touch /bound/x || echo read-only; "
                    + "echo kept > /named/f; df -k /mem | tail -1 | awk '{print $2}'; id -u; pwd; "
                    + "cat /sys/fs/cgroup/memory/memory.limit_in_bytes; touch /no || echo root-too")
            .withFileSystem(
                new FileSystemSpec(
                    List.of(
                        new Mount.Bind(directory, "/bound", true),
                        new Mount.Named("it-volume", "/named", false),
                        new Mount.Anonymous("/anonymous"),
                        new Mount.Tmpfs("/mem", OptionalLong.of(1 << 20), OptionalInt.of(0777))),
                    true))
            .withResources(Resources.DEFAULT.withMemory(64 << 20));
    spec =
        spec.withProcess(
            spec.process().withEnv(Map.of("OWN", "spec")).withWorkdir("/tmp").withUser("0:0"));
    assertThat(output(spec))
        .containsExactly(
            "image spec",
            "from the host",
            "read-only",
            "1024",
            "0",
            "/tmp",
            "67108864",
            "root-too");
    assertThat(
            output(
                script("cat /named/f")
                    .withFileSystem(
                        FileSystemSpec.of(new Mount.Named("it-volume", "/named", true)))))
        .containsExactly("kept");
  }

  @Test
  void theNumberOfProcessesIsBoundedAlsoWhenNobodySaysSo() throws Exception {
    var unsaid =
        new Resources(
            OptionalDouble.empty(),
            OptionalLong.empty(),
            Optional.empty(),
            OptionalLong.empty(),
            OptionalLong.empty(),
            OptionalLong.empty(),
            OptionalInt.empty(),
            OptionalLong.empty(),
            OptionalInt.empty(),
            false,
            OptionalInt.empty(),
            Map.of(),
            Optional.empty());
    var script = script("cat /sys/fs/cgroup/pids/pids.max || cat /sys/fs/cgroup/pids.max");
    assertThat(output(script.withResources(unsaid)))
        .contains(Long.toString(Resources.DEFAULT_PIDS));
    assertThat(output(script.withResources(unsaid.withPids(77)))).contains("77");
    assertThat(output(script.withResources(unsaid.withPids(-1)))).contains("max");
  }

  @Test
  void capabilitiesAndPrivilegesAreAsAsked() throws Exception {
    var usual = output(script("grep -E 'CapEff|NoNewPrivs' /proc/self/status | awk '{print $2}'"));
    assertThat(usual).containsExactly("00000000a80425fb", "1");
    var none =
        new SecuritySpec(
            List.of("CHOWN"),
            List.of("ALL"),
            new SecuritySpec.Seccomp.Unconfined(),
            false,
            false,
            new SecuritySpec.Namespace.Private(),
            new SecuritySpec.Namespace.Private(),
            Map.of(),
            List.of());
    assertThat(
            output(
                script("grep -E 'CapEff|NoNewPrivs|Seccomp:' /proc/self/status | awk '{print $2}'")
                    .withSecurity(none)))
        .containsExactly("0000000000000001", "0", "0");
  }

  @Test
  void portsAndAddressesAreTold() throws Exception {
    var network =
        NetworkSpec.DEFAULT.withPorts(
            new NetworkSpec.Port(
                OptionalInt.empty(), 80, NetworkSpec.Protocol.TCP, Optional.empty()),
            new NetworkSpec.Port(
                OptionalInt.of(5353), 53, NetworkSpec.Protocol.UDP, Optional.empty()));
    Container container =
        runtime.create(id(), script("sleep 1000").withNetwork(network.withHostname("box")));
    container.start();
    assertThat(container.ip()).isPresent();
    assertThat(container.ports())
        .anySatisfy(
            port -> {
              assertThat(port.containerPort()).isEqualTo(80);
              assertThat(port.hostPort()).isPositive();
            })
        .anySatisfy(
            port -> {
              assertThat(port.hostPort()).isEqualTo(5353);
              assertThat(port.protocol()).isEqualTo(NetworkSpec.Protocol.UDP);
            });
    assertThat(exec(container, "hostname")).isEqualTo("box\n");
  }

  @Test
  void aNamedNetworkIsMadeAndNamespacesAreShared() throws Exception {
    var named = new NetworkSpec.Mode.Bridge(Optional.of("it-network"));
    ContainerId first = id();
    Container container =
        runtime.create(first, script("sleep 1000").withNetwork(NetworkSpec.of(named)));
    container.start();
    Container second =
        runtime.create(
            id(),
            script("ip -o -4 addr show eth0 | awk '{print $4}'")
                .withNetwork(NetworkSpec.of(new NetworkSpec.Mode.Shared(first))));
    second.start();
    ended(second);
    assertThat(lines(second).getFirst())
        .startsWith(container.ip().orElseThrow().getHostAddress() + "/");
  }

  @Test
  void aTerminalIsOneStreamWithASize() throws Exception {
    ContainerSpec spec = script("tty; sleep 1000");
    Container container = runtime.create(id(), spec.withProcess(spec.process().withTerminal(true)));
    container.start();
    try (var reader = container.logs(LogQuery.ALL.following())) {
      LogRecord line = reader.next().orElseThrow();
      assertThat(line.text()).startsWith("/dev/pts/");
      assertThat(line.stream()).isEqualTo(LogRecord.Stream.STDOUT);
    }
    try (var session = container.exec(ExecSpec.of("sh").withTerminal())) {
      session.resize(33, 99);
      session.stdin().write("stty size; exit 5\n".getBytes(StandardCharsets.UTF_8));
      String seen = new String(session.stdout().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(seen).contains("33 99");
      assertThat(session.await(Deadline.after(TIMEOUT))).isEqualTo(new ExitStatus.Code(5));
    }
  }

  @Test
  void theInputOfAContainerCanBeJoined() throws Exception {
    ContainerSpec spec = script("read line; echo got $line; exit 6");
    Container container = runtime.create(id(), spec.withProcess(spec.process().withStdin(true)));
    container.start();
    try (var session = ((Attachable) container).attach()) {
      session.stdin().write("words\n".getBytes(StandardCharsets.UTF_8));
      assertThat(session.stdout().readAllBytes()).asString().isEqualTo("got words\n");
      assertThat(session.await(Deadline.after(TIMEOUT))).isEqualTo(new ExitStatus.Code(6));
    }
  }

  @Test
  void muchOutputAndLongLinesArriveWhole() throws Exception {
    Container container =
        runtime.create(id(), script("head -c 100000 /dev/zero | tr '\\0' x; echo; seq 1 20000"));
    container.start();
    ended(container);
    var bytes = new AtomicInteger();
    List<String> lines = new ArrayList<>();
    try (var reader = container.logs(LogQuery.ALL)) {
      for (var line = reader.next(); line.isPresent(); line = reader.next()) {
        bytes.addAndGet(line.get().bytes().length);
        lines.add(line.get().text());
      }
    }
    assertThat(lines).endsWith("19999", "20000").contains("1");
    assertThat(bytes.get()).isEqualTo(100_000 + 88_894);
  }

  @Test
  void tooMuchMemoryIsTold() throws Exception {
    Container container =
        runtime.create(
            id(),
            script("exec tail /dev/zero").withResources(Resources.DEFAULT.withMemory(16 << 20)));
    container.start();
    assertThat(ended(container).status()).isEqualTo(new ExitStatus.OutOfMemory());
  }

  @Test
  void theSignalOfTheImageStopsIt() throws Exception {
    Container container =
        runtime.create(id(), script("trap 'exit 9' USR1; echo up; while :; do sleep 0.05; done"));
    container.start();
    try (var reader = container.logs(LogQuery.ALL.following())) {
      assertThat(reader.next()).isPresent();
    }
    assertThat(container.stop(TIMEOUT).orElseThrow().status()).isEqualTo(new ExitStatus.Code(9));
  }

  @Test
  void agentsOnOneEngineDoNotSeeEachOther() throws Exception {
    ContainerId id = id();
    runtime.create(id, script("true"));
    try (DockerRuntime other = DockerRuntime.open(settings("other"))) {
      assertThat(other.list()).isEmpty();
      assertThat(other.find(id)).isEmpty();
      Container same = other.create(id, script("true"));
      same.remove(false);
    }
    assertThat(runtime.find(id)).isPresent();
  }

  @Test
  void whatCannotBeIsRefused() {
    assertThatThrownBy(
            () ->
                runtime.create(id(), script("true").withPlatform(Platform.of("windows", "amd64"))))
        .isInstanceOf(AgentException.WrongPlatform.class);
    assertThatThrownBy(
            () ->
                runtime.create(
                    id(),
                    script("true")
                        .withFileSystem(
                            FileSystemSpec.of(
                                new Mount.Bind(Path.of("/no/such/directory"), "/x", true)))))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("/no/such/directory");
    assertThat(runtime.list()).isEmpty();
  }

  @Test
  void whatAnUpdateCannotChangeIsRefused() throws Exception {
    Container container =
        runtime.create(id(), script("true").withResources(Resources.DEFAULT.withMemory(64 << 20)));
    assertThatThrownBy(() -> ((Updatable) container).update(Resources.DEFAULT))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("memory");
  }

  /** After the engine died with everything in it, nothing is guessed and nothing is lost. */
  @Test
  void anEngineThatDiesIsTroubleOfTheNetwork() throws Exception {
    ContainerId id = id();
    Container container = runtime.create(id, script("sleep 1000"));
    container.start();
    engine.crash();
    try {
      assertThat(container.status()).isInstanceOf(ContainerStatus.Unknown.class);
      assertThatThrownBy(() -> runtime.find(id)).isInstanceOf(AgentException.Network.class);
      assertThatThrownBy(() -> runtime.create(id(), script("true")))
          .isInstanceOf(AgentException.Network.class);
      assertThatThrownBy(() -> DockerRuntime.open(settings("it")))
          .isInstanceOf(AgentException.Network.class);
      assertThatThrownBy(() -> container.inspect()).isInstanceOf(AgentException.Network.class);
    } finally {
      engine.revive();
    }
    assertThat(runtime.find(id).orElseThrow().status()).isInstanceOf(ContainerStatus.Exited.class);
    container.start();
    assertThat(container.status().alive()).isTrue();
  }

  private static DockerSettings settings(String agent) {
    return DockerSettings.of(engine.address(), agent);
  }

  private static ContainerId id() {
    return ContainerId.of("test", "c" + COUNTER.incrementAndGet(), 1);
  }

  private static ContainerSpec script(String script) {
    return ContainerSpec.of(BUSYBOX)
        .withNetwork(NetworkSpec.NONE)
        .withProcess(ProcessSpec.DEFAULT.withArgs("sh", "-c", script));
  }

  private static Outcome ended(Container container) throws InterruptedException {
    return container.await(WaitCondition.NOT_RUNNING, Deadline.after(TIMEOUT));
  }

  private static List<String> output(ContainerSpec spec) throws InterruptedException {
    Container container = runtime.create(id(), spec);
    container.start();
    ended(container);
    List<String> lines = lines(container);
    container.remove(false);
    return lines;
  }

  private static List<String> lines(Container container) throws InterruptedException {
    List<String> lines = new ArrayList<>();
    try (var reader = container.logs(LogQuery.ALL.only(LogRecord.Stream.STDOUT))) {
      for (var line = reader.next(); line.isPresent(); line = reader.next()) {
        lines.add(line.get().text());
      }
    }
    return lines;
  }

  private static String exec(Container container, String... command) throws Exception {
    try (var session = container.exec(ExecSpec.of(command))) {
      return new String(session.stdout().readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
