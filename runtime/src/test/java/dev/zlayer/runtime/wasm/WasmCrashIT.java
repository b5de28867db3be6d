package dev.zlayer.runtime.wasm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.port.Container;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The agent dies; and the agent is not root. */
@Requires(Fact.WABT)
class WasmCrashIT {
  private static final String NOBODY = "65534";

  @TempDir Path directory;

  @Test
  void whatRanInAKilledAgentHasEndedAndNobodyKnowsHow() throws Exception {
    Process agent = agent(List.of(), System.getProperty("java.class.path"));
    agent.destroyForcibly().waitFor();
    try (var fixture = WasmStage.open(directory.resolve("data"))) {
      assertThat(fixture.runtime.list()).hasSize(3);
      assertThat(find(fixture, "created").status()).isInstanceOf(ContainerStatus.Created.class);
      Container ended = find(fixture, "ended");
      assertThat(WasmStage.ended(ended).status()).isEqualTo(new ExitStatus.Code(0));
      assertThat(WasmStage.lines(ended)).containsExactly("hello");
      Container running = find(fixture, "running");
      assertThat(WasmStage.ended(running).status()).isInstanceOf(ExitStatus.Unknown.class);
      running.start();
      assertThat(running.status()).isInstanceOf(ContainerStatus.Running.class);
      assertThat(running.inspect().restarts()).isEqualTo(1);
      for (Container container : fixture.runtime.list()) {
        container.remove(true);
      }
      assertThat(fixture.dirs.wasmContainers()).isEmptyDirectory();
    }
  }

  /** Another user cannot see our class path, so it is given a copy. */
  @Test
  @Requires(value = Fact.ROOT, programs = "setpriv")
  void needsNoRoot() throws Exception {
    String classes = copiedClassPath();
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxrwxrwx"));
    Process agent =
        agent(
            List.of("setpriv", "--reuid=" + NOBODY, "--regid=" + NOBODY, "--clear-groups"),
            classes);
    agent.destroyForcibly().waitFor();
    assertThat(Files.getOwner(directory.resolve("ready")).getName()).isEqualTo("nobody");
  }

  private static Container find(WasmStage fixture, String service) {
    return fixture.runtime.find(WasmAgent.id(service)).orElseThrow();
  }

  private Process agent(List<String> prefix, String classPath) throws IOException {
    Files.write(directory.resolve("hello.wasm"), Modules.hello());
    Files.write(directory.resolve("spin.wasm"), Modules.spin());
    var words = new ArrayList<>(prefix);
    words.addAll(
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx256m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            classPath,
            WasmAgent.class.getName(),
            directory.toString()));
    File output = directory.resolve("output").toFile();
    Process agent = Processes.start(Command.of(words), output);
    try {
      Awaitility.await()
          .atMost(Duration.ofSeconds(60))
          .until(() -> Files.exists(directory.resolve("ready")) || !agent.isAlive());
      assertThat(agent.isAlive()).as(Files.readString(output.toPath())).isTrue();
      return agent;
    } catch (RuntimeException | AssertionError e) {
      agent.destroyForcibly();
      throw e;
    }
  }

  private String copiedClassPath() throws InterruptedException, IOException {
    Path copies = Files.createDirectories(directory.resolve("classes"));
    var entries = new ArrayList<String>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
      Path copy = copies.resolve("" + entries.size() + (entry.endsWith(".jar") ? ".jar" : ""));
      if (!entry.isEmpty() && Files.exists(Path.of(entry))) {
        Processes.check(
            Command.of("cp", "-rL", entry, copy.toString()), Deadline.after(WasmStage.TIMEOUT));
        entries.add(copy.toString());
      }
    }
    Processes.check(
        Command.of("chmod", "-R", "a+rX", copies.toString()), Deadline.after(WasmStage.TIMEOUT));
    return String.join(File.pathSeparator, entries);
  }
}
