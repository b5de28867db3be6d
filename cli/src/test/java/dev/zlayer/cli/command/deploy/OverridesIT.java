package dev.zlayer.cli.command.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Several files, variables and profiles, through up, diff and validate. */
@Timeout(120)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class OverridesIT {
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

  private static String write(String name, String text) throws IOException {
    Path file = directory.resolve(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
    return file.toString();
  }

  @Test
  void filesAreMergedWithVariablesAndProfiles() throws IOException {
    String base =
        write(
            "over/base.zlayer.yml",
            """
            version: v1
            deployment: merged
            services:
              web:
                image: bb:${TAG}
                command: [sh, -c, "echo ${GREETING:-unset in the shell} $WHO; sleep 1000"]
                env: {WHO: "${WHO:-nobody}", GREETING: base}
              tools: {image: "bb:1", command: [sleep, "1000"], profiles: [debug]}
            """);
    String over =
        write("over/prod.yml", "services: {web: {env: {GREETING: \"from ${PLACE:?where}\"}}}");
    CliFixture.Result missing = cli.run("up", base);
    assertThat(missing.code()).isEqualTo(2);
    assertThat(missing.err()).contains("base.zlayer.yml:5:").contains("variable TAG is not set");

    write("over/.env", "# usual\nTAG=1\nWHO=\"the file\"\n");
    assertThat(cli.run("validate", "-f", base, "-f", over).err())
        .contains("PLACE is not set: where");
    String extra = write("extra.env", "TAG=1\nPLACE=extra\n");
    assertThat(daemon.ok("validate", "--env-file", extra, "-f", base, "-f", over))
        .contains("ok, deployment 'merged': 1 service\n");

    daemon.ok("up", "-f", base, "-f", over, "--env-file", extra);
    assertThat(daemon.ok("logs", "merged/web")).contains("from extra nobody");
    assertThat(daemon.ok("ps", "--format", "{{.Service}}")).isEqualTo("web\n");

    assertThat(daemon.ok("diff", "-f", base, "-f", over, "--env-file", extra, "--profile", "debug"))
        .contains("tools");
    assertThat(daemon.ok("diff", base)).as("the usual file beside it").contains("the file");
    daemon.ok("up", "--profile", "debug", base);
    assertThat(daemon.ok("logs", "merged/web")).contains("base the file");
    assertThat(daemon.ok("ps", "--format", "{{.Service}}").lines()).contains("web", "tools");
    daemon.ok("down", "merged");
  }

  @Test
  void composeFilesAreMergedByTheirOwnRules() throws IOException {
    String base =
        write(
            "compose/compose.yaml",
            "services: {app: {image: 'bb:${TAG}', command: [sleep, '1000'], environment: [A=1]}}");
    String over = write("compose/compose.override.yaml", "services: {app: {environment: [B=2]}}");
    write("compose/.env", "TAG=1\n");

    assertThat(daemon.ok("convert", base, "-f", over))
        .contains("bb:1")
        .contains("A: '1'")
        .contains("B: '2'");
    assertThat(daemon.ok("validate", "-f", base, "-f", over)).contains("ok, deployment 'compose'");
  }
}
