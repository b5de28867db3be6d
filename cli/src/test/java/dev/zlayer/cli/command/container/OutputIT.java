package dev.zlayer.cli.command.container;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.cli.terminal.OutputClosed;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What containers print arrives byte for byte, whatever way it takes to the command line. */
@Timeout(240)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class OutputIT {
  private static final long SEED = Long.getLong("zlayer.test.seed", 300);
  private static final Duration LIMIT = Duration.ofSeconds(60);

  @TempDir static Path directory;
  private static DaemonFixture daemon;
  private static CliFixture cli;

  @BeforeAll
  static void startADaemon() {
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

  /** A program that writes many pieces to both streams, and what it writes. */
  private record Program(Path directory, byte[] out, byte[] err) {
    /** As many cases as asked for: each writes some pieces, and one of them is the last. */
    static Program random(Path directory, Random random, int cases) throws IOException {
      Files.createDirectories(directory);
      var out = new ByteArrayOutputStream();
      var err = new ByteArrayOutputStream();
      var script = new StringBuilder();
      int files = 0;
      for (int number = 0; number < cases; number++) {
        for (int piece = random.nextInt(7); piece > 0; piece--) {
          byte[] content = content(random);
          Files.write(directory.resolve("f" + files), content);
          boolean error = random.nextBoolean();
          script.append("cat /cases/f" + files++ + (error ? " >&2\n" : "\n"));
          (error ? err : out).writeBytes(content);
        }
      }
      Files.writeString(directory.resolve("run"), script);
      return new Program(directory, out.toByteArray(), err.toByteArray());
    }

    private static byte[] content(Random random) {
      byte[] bytes =
          new byte[random.nextInt(1 << random.nextInt(random.nextInt(20) == 0 ? 21 : 12))];
      int kind = random.nextInt(3);
      for (int i = 0; i < bytes.length; i++) {
        bytes[i] =
            switch (kind) {
              case 0 -> (byte) random.nextInt(256);
              case 1 -> (byte) (random.nextInt(40) == 0 ? '\n' : 'a' + random.nextInt(26));
              default -> (byte) "\0\r\n\u00ff\u00c3x".charAt(random.nextInt(6));
            };
      }
      return bytes;
    }

    String mount() {
      return directory + ":/cases:ro";
    }
  }

  private static void assertSame(String way, Program program, CliFixture.Bytes result) {
    assertThat(result.code()).as(way).isZero();
    assertThat(Arrays.equals(result.out(), program.out()))
        .as("%s: %d bytes of stdout instead of %d", way, result.out().length, program.out().length)
        .isTrue();
    assertThat(Arrays.equals(result.err(), program.err()))
        .as("%s: %d bytes of stderr instead of %d", way, result.err().length, program.err().length)
        .isTrue();
  }

  /** 300 cases, thirty to a container, each container read in another way. */
  @Test
  void randomOutputOfRealContainersArrivesByteForByte() throws Exception {
    for (int batch = 0; batch < 10; batch++) {
      long seed = SEED + batch;
      String name = "batch" + batch;
      var program = Program.random(directory.resolve(name), new Random(seed), 30);
      String way = "seed " + seed;
      switch (batch % 5) {
        case 0 ->
            assertSame(
                way + ", run",
                program,
                cli.bytes("run", "--rm", "-v", program.mount(), "bb:1", "sh", "/cases/run"));
        case 1 ->
            assertSame(
                way + ", run -i",
                program,
                cli.bytes("run", "--rm", "-i", "-v", program.mount(), "bb:1", "sh", "/cases/run"));
        case 2 -> {
          daemon.ok("run", "-d", "--name", name, "-v", program.mount(), "bb:1", "sh", "/cases/run");
          assertSame(way + ", logs -f", program, cli.bytes("logs", "-f", name));
          assertSame(way + ", logs", program, cli.bytes("logs", name));
          // it prints once its input has ended, which is when somebody has joined it
          String late = "read line; . /cases/run; true";
          daemon.ok(
              "run", "-d", "-i", "--name", "late", "-v", program.mount(), "bb:1", "sh", "-c", late);
          assertSame(way + ", attach", program, cli.bytes("attach", "--logs", "late"));
          daemon.ok("rm", "late");
        }
        case 3 -> job(way, name, program);
        default -> {
          daemon.ok("run", "-d", "--name", name, "-v", program.mount(), "bb:1", "sleep", "1000");
          assertSame(way + ", exec", program, cli.bytes("exec", name, "sh", "/cases/run"));
          assertSame(way + ", exec -i", program, cli.bytes("exec", "-i", name, "sh", "/cases/run"));
        }
      }
    }
  }

  /** From the moment of attaching, as it is printed. */
  @Test
  void randomOutputArrivesByteForByteWhileAttached() throws Exception {
    String late = "read line; . /cases/run; true";
    int done = 0;
    for (long seed = SEED; done < 6; seed++) {
      String name = "live" + seed;
      var program = Program.random(directory.resolve(name), new Random(seed), 10);
      if (program.out().length + program.err().length > 4 << 20) {
        continue; // so much may be discarded for a reader that is behind
      }
      daemon.ok("run", "-d", "-i", "--name", name, "-v", program.mount(), "bb:1", "sh", "-c", late);
      assertSame("seed " + seed + ", attach", program, cli.bytes("attach", name));
      assertSame("seed " + seed + ", logs", program, cli.bytes("logs", name));
      daemon.ok("rm", name);
      done++;
    }
  }

  /** One is stopped, the other one reads, and all of it is kept. */
  @Test
  void aStoppedReaderKeepsNobodyWaitingAndIsToldWhatItMissed() throws Exception {
    long bytes = 30L << 20;
    Path shared = Files.createDirectories(directory.resolve("stopped"));
    daemon.ok(
        "run",
        "-d",
        "--name",
        "loud",
        "-v",
        shared + ":/shared",
        "bb:1",
        "sh",
        "-c",
        "until [ -e /shared/go ]; do sleep 0.02; done; head -c " + bytes + " /dev/zero");
    Path out = shared.resolve("out");
    Path err = shared.resolve("err");
    ProcessBuilder builder = new ProcessBuilder(daemon.process("attach", "--no-stdin", "loud"));
    builder.environment().putAll(daemon.env());
    Process stopped = builder.redirectOutput(out.toFile()).redirectError(err.toFile()).start();
    try (var scope = new TaskScope("attach")) {
      Awaitility.await().atMost(LIMIT).until(() -> attached(1));
      new ProcessBuilder("kill", "-STOP", "" + stopped.pid()).start().waitFor();
      var other = scope.fork(() -> cli.bytes("attach", "--no-stdin", "--logs", "loud"));
      Awaitility.await().atMost(LIMIT).until(() -> attached(2));
      Files.createFile(shared.resolve("go"));
      scope.join();
      assertThat(other.result().out()).hasSize((int) bytes);
      assertThat(daemon.ok("wait", "loud").strip()).isEqualTo("exited with code 0");
      assertThat(cli.bytes("logs", "loud").out()).hasSize((int) bytes);
      new ProcessBuilder("kill", "-CONT", "" + stopped.pid()).start().waitFor();
      assertThat(stopped.waitFor(LIMIT.toSeconds(), java.util.concurrent.TimeUnit.SECONDS))
          .isTrue();
      var said =
          java.util.regex.Pattern.compile("zlayer: (\\d+) bytes of output were read too slowly");
      long missed =
          said.matcher(Files.readString(err))
              .results()
              .mapToLong(match -> Long.parseLong(match.group(1)))
              .sum();
      assertThat(missed).isPositive();
      assertThat(Files.size(out) + missed).isEqualTo(bytes);
    } finally {
      stopped.destroyForcibly();
    }
  }

  /** Whether so many are attached to the container that runs: its monitor has their sockets. */
  private static boolean attached(int count) throws Exception {
    long monitor =
        ProcessHandle.allProcesses()
            .filter(
                process ->
                    process
                        .info()
                        .commandLine()
                        .filter(line -> line.contains("conmon") && line.contains("" + directory))
                        .isPresent())
            .findFirst()
            .orElseThrow()
            .pid();
    try (var open = Files.list(Path.of("/proc", "" + monitor, "fd"))) {
      long sockets =
          open.filter(
                  descriptor -> {
                    try {
                      return Files.readSymbolicLink(descriptor).toString().startsWith("socket:");
                    } catch (IOException _) {
                      return false;
                    }
                  })
              .count();
      return sockets >= count + 1; // the one they connect to
    }
  }

  private void job(String way, String name, Program program) throws Exception {
    Path file = directory.resolve(name + ".yaml");
    Files.writeString(
        file,
        """
        version: v1
        deployment: %s
        services:
          print:
            rtype: job
            image: {name: "bb:1"}
            network_mode: none
            command: [sh, /cases/run]
            job: {max_log_size: 32Mi}
            storage: [{type: bind, source: %s, target: /cases, readonly: true}]
        """
            .formatted(name, program.directory()));
    daemon.ok("up", file.toString());
    assertSame(
        way + ", job run", program, cli.bytes("job", "run", "--wait", "--quiet", name + "/print"));
    assertSame(way + ", job logs", program, cli.bytes("job", "logs", name + "/print"));
    daemon.ok("down", name);
  }

  @Test
  void aLineThatIsNotEndedIsNeitherLostNorEnded() {
    for (int i = 0; i < 3; i++) {
      CliFixture.Result first =
          cli.run("run", "--rm", "bb:1", "sh", "-c", "printf JSON; echo log >&2");
      assertThat(first).isEqualTo(new CliFixture.Result(0, "JSON", "log\n"));
      CliFixture.Result last =
          cli.run("run", "--rm", "bb:1", "sh", "-c", "echo log >&2; printf JSON");
      assertThat(last).isEqualTo(new CliFixture.Result(0, "JSON", "log\n"));
    }
    assertThat(daemon.ok("run", "--rm", "bb:1", "printf", "abc")).isEqualTo("abc");
  }

  /** In a process of its own, as only that has a pipe for its output. */
  private static CommandResult shell(String line) throws InterruptedException {
    String zlayer =
        daemon.process().stream()
            .map(word -> "'" + word.replace("'", "'\\''") + "'")
            .collect(Collectors.joining(" "));
    return Processes.run(
        Command.of("bash", "-c", "zlayer() { " + zlayer + " \"$@\"; }; " + line)
            .withEnv(daemon.env()),
        soon());
  }

  /** More than is kept for a reader that is behind, to one that begins late. */
  @ParameterizedTest
  @ValueSource(strings = {"", "-i"})
  void anArchiveOfAHundredMegabytesIsWhole(String flag) throws Exception {
    var run =
        shell(
            "zlayer run --rm %s bb:1 dd if=/dev/zero bs=1M count=100 2>/dev/null </dev/null"
                    .formatted(flag)
                + " | (sleep 1; cksum)");
    var zeros =
        Processes.run(Command.of("sh", "-c", "head -c 104857600 /dev/zero | cksum"), soon());
    assertThat(run.stdout()).isEqualTo(zeros.stdout()).endsWith(" 104857600\n");
  }

  private static Deadline soon() {
    return Deadline.after(LIMIT);
  }

  @Test
  void aReaderThatEndsEndsTheContainerOfRun() throws Exception {
    var run = shell("zlayer run --rm --name endless bb:1 yes | head -2; echo ${PIPESTATUS[0]}");
    assertThat(run.stdout()).isEqualTo("y\ny\n" + OutputClosed.EXIT_CODE + "\n");
    assertThat(run.stderr()).isEmpty();
    assertThat(daemon.ok("ps", "--all", "--quiet")).isEmpty();

    var input = shell("zlayer run --rm -i bb:1 yes < /dev/null | head -2; echo ${PIPESTATUS[0]}");
    assertThat(input.stdout()).isEqualTo("y\ny\n" + OutputClosed.EXIT_CODE + "\n");
    Awaitility.await().until(() -> daemon.ok("ps", "--all", "--quiet").isEmpty());
  }

  /** Also one that has nothing more to write: nobody would ever notice by writing. */
  @Test
  void aReaderThatEndsEndsAFollowerOfSilence() throws Exception {
    daemon.ok("run", "-d", "--name", "silent", "bb:1", "sh", "-c", "echo a; echo b; sleep 1000");
    var logs = shell("zlayer logs -f silent | head -1; echo ${PIPESTATUS[0]}");
    assertThat(logs.stdout()).isEqualTo("a\n" + OutputClosed.EXIT_CODE + "\n");
    assertThat(daemon.ok("ps", "--quiet")).isNotEmpty();
    var run = shell("zlayer run --rm --name quiet bb:1 sh -c 'echo a; sleep 1000' | head -1");
    assertThat(run.stdout()).isEqualTo("a\n");
    assertThat(daemon.ok("ps", "--all").lines().filter(line -> line.contains("quiet"))).isEmpty();
  }

  @Test
  void aReaderThatEndsEndsTheProcessOfExec() throws Exception {
    daemon.ok("run", "-d", "--name", "host", "bb:1", "sleep", "1000");
    var exec = shell("zlayer exec host yes | head -2; echo ${PIPESTATUS[0]}");
    assertThat(exec.stdout()).isEqualTo("y\ny\n" + OutputClosed.EXIT_CODE + "\n");
    Awaitility.await()
        .untilAsserted(() -> assertThat(daemon.ok("top", "host")).doesNotContain("yes"));
  }

  @Test
  void aFullDiskIsSaid() throws Exception {
    var full = shell("zlayer run --rm bb:1 echo a > /dev/full; echo $?");
    assertThat(full.stdout()).isEqualTo("4\n");
    assertThat(full.stderr()).contains("cannot write the output: No space left on device");
  }

  /** Watched, or joined with standard input, while the daemon is killed and started again. */
  @ParameterizedTest
  @ValueSource(strings = {"--label=a=b", "-i"})
  void everyByteArrivesOnceAcrossAKillOfTheDaemon(String flag) throws Exception {
    String script =
        "i=0; while [ $i -lt 150 ]; do printf $i,; printf e$i, >&2; sleep 0.02; i=$((i+1)); done;"
            + " printf end";
    try (var scope = new TaskScope("run")) {
      var run =
          scope.fork(
              () -> cli.bytes("run", "--rm", flag, "--name", "on", "bb:1", "sh", "-c", script));
      Awaitility.await().until(() -> daemon.ok("ps").contains("on "));
      daemon.kill();
      daemon.restart();
      scope.join();
      String numbers = IntStream.range(0, 150).mapToObj(i -> i + ",").collect(Collectors.joining());
      assertThat(new String(run.result().out(), StandardCharsets.ISO_8859_1))
          .isEqualTo(numbers + "end");
      String notices = "(?m)zlayer: [^\n]*\n";
      assertThat(
              new String(run.result().err(), StandardCharsets.ISO_8859_1).replaceAll(notices, ""))
          .isEqualTo(
              IntStream.range(0, 150).mapToObj(i -> "e" + i + ",").collect(Collectors.joining()));
    }
  }
}
