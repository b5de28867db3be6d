package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Container;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.docker.DockerEngine;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.MadeImage;
import dev.zlayer.testkit.image.TarEntry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * A default container beside one of Docker: nothing may be open here that is shut there. What each
 * row comes to is in the table of docs/security.md.
 */
@Requires({
  Fact.ROOT,
  Fact.RUNC,
  Fact.VIEW,
  Fact.CONMON,
  Fact.CNI,
  Fact.BUSYBOX,
  Fact.OVERLAYFS,
  Fact.DOCKERD,
  Fact.GCC
})
class DockerComparisonIT extends OnStage {
  private static final ImageRef IMAGE = ImageRef.parse("localhost/probe:test");
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  private static final String BEGIN = "<!-- begin of the comparison -->\n\n";
  private static final String END = "<!-- end of the comparison -->";

  private DockerEngine engine;
  private SystemCalls calls;

  @BeforeAll
  void openBoth() throws Exception {
    MadeImage image =
        ImageMaker.busybox()
            .layer(program("probe", "system-calls.c"))
            .layer(program("view", "container-view.c"))
            .make();
    fixture.load(image, IMAGE);
    engine = DockerEngine.start();
    Path archive =
        Files.write(directory.resolve("image.tar"), image.dockerArchive(IMAGE.canonical()));
    docker("load", "--input", archive.toString());
  }

  private TarEntry program(String name, String resource) throws Exception {
    Path program = directory.resolve(name);
    try (var source = getClass().getResourceAsStream(resource)) {
      Files.write(directory.resolve(resource), source.readAllBytes());
    }
    run("gcc", "-O1", "-static", "-o", program.toString(), directory.resolve(resource).toString());
    return TarEntry.file(name, Files.readAllBytes(program)).withMode(0755);
  }

  @AfterAll
  void closeTheOther() {
    if (engine != null) {
      engine.close();
    }
  }

  @Test
  void everySystemCallEndsAsWithDocker() throws Exception {
    var calls = calls();
    assertThat(calls.ours().keySet())
        .isEqualTo(calls.theirs().keySet())
        .isEqualTo(calls.open().keySet())
        .hasSizeGreaterThan(1400);

    var different = new TreeSet<String>();
    calls
        .ours()
        .forEach(
            (call, result) -> {
              if (calls.differs(call)) {
                different.add(call + ": " + result + " here, " + calls.expected(call) + " there");
              }
            });
    assertThat(different).isEmpty();
    Map<String, String> ours = calls.ours();
    for (String call :
        List.of("x86_64 272", "x86_64 308", "x86_64 165", "x86_64 250", "i386 310")) {
      assertThat(ours).as(call).containsEntry(call, "1"); // unshare, setns, mount, keyctl
    }
    for (String abi : List.of("x86_64", "i386")) {
      for (int number : List.of(425, 426, 427)) {
        assertThat(ours).containsEntry(abi + " " + number, "1"); // io_uring
      }
    }
    for (int bit : List.of(17, 25, 26, 27, 28, 29, 30)) {
      assertThat(ours).containsEntry("clone-flag-" + bit + " x86_64 56", "1");
    }
    assertThat(ours).containsEntry("x86_64 435", "38"); // clone3
    assertThat(ours).containsEntry("family-1 x86_64 41", "22"); // allowed, of no such kind
    assertThat(SystemCalls.STRICTER).allSatisfy(call -> assertThat(ours).containsEntry(call, "1"));
    assertThat(ours).containsEntry("i386 20", "0"); // getpid of a static 32-bit program
  }

  private synchronized SystemCalls calls() throws Exception {
    if (calls == null) {
      calls =
          new SystemCalls(
              SystemCalls.results(docker("run", "--rm", "--network=none", name(), "/probe")),
              SystemCalls.results(fixture.output(spec("/probe"))),
              SystemCalls.results(fixture.output(unfiltered("/probe"))));
    }
    return calls;
  }

  /** Each value of the table is measured in both; where it differs from Docker, it is stricter. */
  @Test
  void everyRowOfTheTableIsEqualOrStricter() throws Exception {
    String[] command = Stream.concat(Stream.of("/view"), hideable()).toArray(String[]::new);
    String there =
        docker(
            Stream.concat(
                    Stream.of("run", "--name=view", "--network=none", name()), Stream.of(command))
                .toArray(String[]::new));
    Map<String, String> theirs =
        ContainerView.rows(there, pathsOfDocker("Masked"), pathsOfDocker("Readonly"));
    docker("rm", "view");
    String here;
    Map<String, String> ours;
    Container container = fixture.runtime.create(RuntimeFixture.id(), spec(command));
    try {
      container.start();
      container.await(WaitCondition.NOT_RUNNING, Deadline.after(TIMEOUT));
      here = RuntimeFixture.text(container);
      Json linux = bundle().at("linux");
      ours =
          ContainerView.rows(
              here, linux.at("maskedPaths").strings(), linux.at("readonlyPaths").strings());
    } finally {
      container.remove(true);
    }
    assertThat(ContainerView.writable(there)).containsAll(ContainerView.writable(here));
    calls().describe(theirs, ours);
    theirs.put("process: session keyring", keyringOfDocker());
    ours.put("process: session keyring", keyringOfOurs());

    var table = new DefaultsTable(theirs, ours);
    assertThat(table.rows()).hasSizeGreaterThan(80);
    assertThat(table.rows())
        .allSatisfy(
            row ->
                assertThat(table.relation(row))
                    .as(row)
                    .isIn(DefaultsTable.EQUAL, DefaultsTable.STRICTER));
    Path page = Path.of("..", "docs", "security.md");
    String text = Files.readString(page);
    int begin = text.indexOf(BEGIN) + BEGIN.length();
    int end = text.indexOf(END);
    assertThat(begin).isBetween(BEGIN.length(), end);
    if (System.getenv("ZLAYER_UPDATE_DOCS") != null) {
      Files.writeString(page, text.substring(0, begin) + table.markdown() + text.substring(end));
      return;
    }
    assertThat(text.substring(begin, end))
        .as("docs/security.md is out of date: run this test with ZLAYER_UPDATE_DOCS=1")
        .isEqualTo(table.markdown());
  }

  /** All paths that Docker 28 hides, and those that this host has of a pattern. */
  private static Stream<String> hideable() {
    return Stream.concat(
        Stream.of(
            "/proc/acpi",
            "/proc/asound",
            "/proc/interrupts",
            "/proc/kcore",
            "/proc/keys",
            "/proc/latency_stats",
            "/proc/sched_debug",
            "/proc/scsi",
            "/proc/timer_list",
            "/proc/timer_stats",
            "/sys/devices/virtual/powercap",
            "/sys/firmware"),
        Machine.thermalThrottles().stream());
  }

  private Set<String> pathsOfDocker(String kind) throws InterruptedException {
    String list =
        docker("inspect", "--format={{json .HostConfig.%sPaths}}".formatted(kind), "view");
    return new TreeSet<>(JsonText.parse(list).strings());
  }

  /** The configuration that the OCI runtime got for the only container. */
  private Json bundle() throws IOException {
    try (var files = Files.walk(directory)) {
      Path config = files.filter(file -> file.endsWith("config.json")).findFirst().orElseThrow();
      return JsonText.parse(Files.readAllBytes(config));
    }
  }

  @Test
  void everyContainerHasAKeyringOfItsOwn() throws Exception {
    assertThat(fixture.output(spec("/probe", "keyring"))).isEqualTo("error 1");
    assertThat(keyringOfOurs()).isEqualTo("its own");
  }

  private String keyringOfOurs() throws Exception {
    return keyring(
        fixture.output(unfiltered("/probe", "keyring")),
        fixture.output(unfiltered("/probe", "keyring")));
  }

  private String keyringOfDocker() throws Exception {
    String[] command = {
      "run",
      "--rm",
      "--network=none",
      "--security-opt=seccomp=unconfined",
      name(),
      "/probe",
      "keyring"
    };
    return keyring(docker(command).strip(), docker(command).strip());
  }

  private String keyring(String first, String second) throws Exception {
    String here = run(directory.resolve("probe").toString(), "keyring").strip();
    assertThat(List.of(first, second)).allMatch(line -> line.matches("keyring \\d+"));
    return new TreeSet<>(List.of(here, first, second)).size() == 3 ? "its own" : "another's";
  }

  private static ContainerSpec spec(String... command) {
    return ContainerSpec.of(IMAGE)
        .withNetwork(NetworkSpec.NONE)
        .withProcess(ProcessSpec.DEFAULT.withArgs(command));
  }

  private static ContainerSpec unfiltered(String... command) {
    return spec(command)
        .withSecurity(
            new SecuritySpec(
                List.of(),
                List.of(),
                new SecuritySpec.Seccomp.Unconfined(),
                true,
                false,
                new SecuritySpec.Namespace.Private(),
                new SecuritySpec.Namespace.Private(),
                Map.of(),
                List.of()));
  }

  private static String name() {
    return IMAGE.canonical();
  }

  private String docker(String... words) throws InterruptedException {
    var command = new ArrayList<>(List.of("docker", "--host"));
    command.add("unix://" + ((HttpAddress.Unix) engine.address()).socket());
    command.addAll(List.of(words));
    return run(command.toArray(String[]::new));
  }

  private static String run(String... words) throws InterruptedException {
    return Processes.check(Command.of(words), Deadline.after(TIMEOUT)).stdout();
  }
}
