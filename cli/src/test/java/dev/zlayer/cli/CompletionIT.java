package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The scripts in the shells that they are for, with names from a real daemon. */
@Timeout(180)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class CompletionIT {
  @TempDir static Path directory;
  private static DaemonFixture daemon;

  @BeforeAll
  static void startADaemonWithThings() throws Exception {
    daemon = DaemonFixture.start(directory).withBusybox("bb:1");
    Path program = directory.resolve("zlayer");
    Files.writeString(
        program,
        "#!/bin/sh\nexec "
            + daemon.process().stream().map(CompletionIT::quoted).collect(Collectors.joining(" "))
            + " \"$@\"\n");
    Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
    daemon.ok("create", "--name", "alpha", "bb:1", "true");
    daemon.ok("create", "--name", "alpine", "bb:1", "true");
    daemon.ok("volume", "create", "data");
    Files.writeString(
        directory.resolve("shop.zlayer.yml"),
        """
        version: v1
        deployment: shop
        services:
          web: {image: "bb:1", command: [sleep, "1000"]}
          report: {rtype: job, image: "bb:1", command: ["true"]}
        """);
    daemon.ok("up", directory.resolve("shop.zlayer.yml").toString());
  }

  @AfterAll
  static void removeEverything() {
    if (daemon != null) {
      daemon.close();
    }
  }

  private static String quoted(String word) {
    return "'" + word.replace("'", "'\\''") + "'";
  }

  private static String shell(String... words) throws InterruptedException {
    Map<String, String> env = new LinkedHashMap<>(daemon.env());
    env.put("PATH", directory + ":/usr/bin:/bin");
    CommandResult result =
        Processes.run(
            Command.of(words).withEnv(env).in(directory), Deadline.after(Duration.ofSeconds(60)));
    assertThat(result.success()).as(result.stderr()).isTrue();
    return result.stdout();
  }

  private static String bash(String typed) throws InterruptedException {
    String script =
        """
        source <(zlayer completions bash)
        COMP_LINE=$1; COMP_POINT=${#COMP_LINE}
        _zlayer
        printf '%s\\n' "${COMPREPLY[@]}"
        """;
    return shell("bash", "-c", script, "bash", typed).strip();
  }

  @Test
  void bashCompletesNames() throws Exception {
    assertThat(bash("zlayer logs al")).isEqualTo("alpha\nalpine");
    assertThat(bash("zlayer logs --tail 3 sho").lines()).contains("shop/web");
    assertThat(bash("zlayer run --rm b")).isEqualTo("bb:1");
    assertThat(bash("zlayer run --rm bb:")).as("after the colon").isEqualTo("1");
    assertThat(bash("zlayer scale ")).isEqualTo("shop/web=");
    assertThat(bash("zlayer job run ")).isEqualTo("shop/report");
    assertThat(bash("zlayer volume rm ")).isEqualTo("data");
    assertThat(bash("zlayer down ")).isEqualTo("shop");
    assertThat(bash("zlayer exec alpha ")).as("files").isEmpty();
    assertThat(bash("zlayer vol")).isEqualTo("volume");
  }

  @Test
  @Requires(Fact.ZSH)
  void zshCompletesNames() throws Exception {
    String script =
        """
        compdef() { :; }
        source <(zlayer completions zsh)
        compadd() { shift; print -l -- "$@"; }
        _files() { print files; }
        words=(${(s: :)1} "$2"); CURRENT=${#words}
        _zlayer
        """;
    assertThat(shell("zsh", "-f", "-c", script, "zsh", "zlayer logs", "al"))
        .isEqualTo("alpha\nalpine\n");
    assertThat(shell("zsh", "-f", "-c", script, "zsh", "zlayer image rm", "")).isEqualTo("bb:1\n");
    assertThat(shell("zsh", "-f", "-c", script, "zsh", "zlayer up", "")).isEqualTo("files\n");
  }

  @Test
  @Requires(Fact.FISH)
  void fishCompletesNames() throws Exception {
    String script = "zlayer completions fish | source; complete -C \"$argv[1]\"";

    assertThat(shell("fish", "-N", "-c", script, "zlayer logs al").lines())
        .contains("alpha", "alpine");
    assertThat(shell("fish", "-N", "-c", script, "zlayer volume rm d").lines()).contains("data");
  }
}
