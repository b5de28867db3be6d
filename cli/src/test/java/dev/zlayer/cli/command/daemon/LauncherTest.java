package dev.zlayer.cli.command.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The launcher of the package, with a JVM that only prints what it was told. */
class LauncherTest {
  private static final String END = "-XX:+ExitOnOutOfMemoryError";

  @TempDir Path home;

  @Test
  void onlyADaemonEndsWhenItIsOutOfMemory() throws Exception {
    Path launcher = Files.createDirectories(home.resolve("bin")).resolve("zlayer");
    Files.copy(Path.of("../tools/launcher"), launcher);
    Files.createDirectories(home.resolve("lib"));
    Files.writeString(home.resolve("lib/jdk.sh"), "use_jdk() { JAVA_HOME=$home/jdk; }\n");
    Path java = Files.createDirectories(home.resolve("jdk/bin")).resolve("java");
    Files.writeString(java, "#!/bin/sh\necho \"$@\"\n");
    assertThat(java.toFile().setExecutable(true)).isTrue();

    assertThat(words(launcher, "serve")).contains(END, "serve");
    assertThat(words(launcher, "ps")).contains("ps").doesNotContain(END);
    assertThat(Launch.words()).contains(END);
  }

  private static List<String> words(Path launcher, String verb) throws InterruptedException {
    var result =
        Processes.run(
            Command.of("sh", launcher.toString(), verb), Deadline.after(Duration.ofSeconds(20)));
    return List.of(result.stdout().strip().split(" "));
  }
}
