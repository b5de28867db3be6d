package dev.zlayer.host.process;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.linux.Mounts;
import dev.zlayer.task.Deadline;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class ConfinedProcessIT {
  @TempDir Path directory;

  private ConfinedProcess start(String script) {
    return ConfinedProcess.start(
        directory.toString(), Command.of("sh", "-c", script, directory.toString()));
  }

  private BufferedReader lines(ConfinedProcess process) {
    return new BufferedReader(new InputStreamReader(process.output(), StandardCharsets.UTF_8));
  }

  /** Processes of this host whose command line names the directory. */
  private String running() throws InterruptedException {
    return Processes.run(
            Command.of("pgrep", "-f", directory.toString()), Deadline.after(Duration.ofSeconds(10)))
        .stdout();
  }

  @Test
  void itSaysWhatItPrintsAndHowItEnded() throws Exception {
    try (var process = start("echo out; echo err >&2; read line || echo no input; exit 7");
        var lines = lines(process)) {
      assertThat(lines.lines()).containsExactly("out", "err", "no input");
      assertThat(process.waitFor()).isEqualTo(7);
      assertThat(process.exitCode()).isEqualTo(7);
    }
  }

  @Test
  void whatItStartedAndMountedEndsWithIt() throws Exception {
    Path mount = Files.createDirectory(directory.resolve("mount"));
    try (var process =
            start(
                "mount -t tmpfs x \"$0/mount\"; setsid sh -c 'echo away; sleep 300; :' \"$0\" &"
                    + " wait; sleep 300; :");
        var lines = lines(process)) {
      assertThat(lines.readLine()).isEqualTo("away");
      assertThat(running()).isNotEmpty();
      assertThat(Mounts.mounted(mount)).isFalse();
      process.close();
      assertThat(running()).isEmpty();
    }
  }

  @Test
  void thoseOfAnEarlierProcessAreFoundByTheirOwner() throws Exception {
    try (var process = start("echo begun; sleep 300; :");
        var lines = lines(process)) {
      assertThat(lines.readLine()).isEqualTo("begun");
      ConfinedProcess.endAll(directory.resolve("other").toString());
      assertThat(running()).isNotEmpty();
      ConfinedProcess.endAll(directory.toString());
      assertThat(running()).isEmpty();
      assertThat(process.waitFor()).isNotZero();
    }
  }

  /** A process of the host's own stands for an agent that is killed. */
  @Test
  void itEndsWhenTheOneWhoStartedItIsKilled() throws Exception {
    Process agent =
        new ProcessBuilder(
                ProcessHandle.current().info().command().orElse("java"),
                "-cp",
                System.getProperty("java.class.path"),
                "--enable-native-access=ALL-UNNAMED",
                Starter.class.getName(),
                directory.toString())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try (var lines = agent.inputReader(StandardCharsets.UTF_8)) {
      assertThat(lines.readLine()).isEqualTo("begun");
    } finally {
      agent.destroyForcibly().waitFor();
    }
    long end = System.nanoTime() + Duration.ofSeconds(20).toNanos();
    while (!running().isEmpty() && System.nanoTime() < end) {
      Thread.onSpinWait();
    }
    assertThat(running()).isEmpty();
  }

  /** Starts one and waits for ever. */
  static final class Starter {
    private Starter() {}

    public static void main(String[] arguments) throws IOException, InterruptedException {
      try (var process =
              ConfinedProcess.start(
                  arguments[0],
                  Command.of(
                      "sh",
                      "-c",
                      "setsid sh -c 'sleep 300; :' \"$0\" & echo begun; wait; :",
                      arguments[0]));
          var lines =
              new BufferedReader(new InputStreamReader(process.output(), StandardCharsets.UTF_8))) {
        System.out.println(lines.readLine());
        process.waitFor();
      }
    }
  }
}
