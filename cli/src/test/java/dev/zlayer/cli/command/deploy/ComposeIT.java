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

/** Compose files on the command line, with a real daemon. */
@Timeout(120)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class ComposeIT {
  private static final String FILE =
      """
      name: composed
      services:
        prepare:
          image: ${IMAGE}
          command: sh -c 'echo prepared > /data/state'
          volumes: [data:/data]
        app:
          image: ${IMAGE}
          command: ["sh", "-c", "cat /data/state; echo $$GREETING; exec sleep 1000"]
          environment: [GREETING=hello]
          stop_signal: SIGKILL
          healthcheck: {test: ["CMD", "test", "-s", "/data/state"], interval: 1s}
          volumes: [data:/data:ro]
          depends_on:
            prepare: {condition: service_completed_successfully}
        client:
          image: ${IMAGE}
          command: ["sh", "-c", "exec sleep 1000"]
          stop_signal: SIGKILL
          depends_on:
            app: {condition: service_healthy}
      volumes: {data: }
      """;

  @TempDir static Path directory;
  private static DaemonFixture daemon;
  private static CliFixture cli;

  @BeforeAll
  static void startADaemon() throws IOException {
    daemon = DaemonFixture.start(directory).withBusybox("bb:1");
    cli = daemon.cli();
    Files.writeString(directory.resolve("compose.yaml"), FILE.replace("${IMAGE}", "bb:1"));
  }

  @AfterAll
  static void removeEverything() {
    if (daemon != null) {
      cli.run("down", "composed", "--volumes");
      daemon.close();
    }
  }

  @Test
  void upRunsAComposeFile() {
    CliFixture.Result up = cli.run("up");
    assertThat(up.code()).as(up.err()).isZero();
    assertThat(up.err()).contains("'composed' is ready");
    assertThat(daemon.ok("logs", "composed/app")).isEqualTo("prepared\nhello\n");
    assertThat(daemon.ok("diff")).contains("nothing would change");
    assertThat(daemon.ok("exec", "composed/client/1", "nslookup", "app")).contains("Address");
  }

  @Test
  void convertWritesAFileThatIsValid() throws IOException {
    Path result = directory.resolve("converted.yml");
    CliFixture.Result converted = cli.run("convert", "-o", "converted.yml", "--name", "another");
    assertThat(converted.code()).as(converted.err()).isZero();
    assertThat(result).content().contains("deployment: another");
    assertThat(daemon.ok("validate", "converted.yml")).contains("2 services, 1 job");
    assertThat(cli.run("convert", "-o", "converted.yml").err()).contains("exists");
  }

  @Test
  void whatIsLostIsNamedAndRefused() throws IOException {
    Files.writeString(
        directory.resolve("other.yml"), "services: {web: {image: 'bb:1', shm_size: 1g}}\n");
    String problem = "other.yml:1:43: services.web.shm_size: /dev/shm has a fixed size of 64Mi";
    CliFixture.Result up = cli.run("up", "other.yml");
    assertThat(up.code()).isEqualTo(2);
    assertThat(up.err()).contains(problem, "nothing was changed", "zlayer convert");
    assertThat(cli.run("validate", "other.yml").out()).contains(problem);
    CliFixture.Result convert = cli.run("convert", "other.yml");
    assertThat(convert.code()).isZero();
    assertThat(convert.err()).contains("not converted: " + problem);
    assertThat(convert.out()).contains("name: bb:1");
    CliFixture.Result strict = cli.run("convert", "--strict", "other.yml");
    assertThat(strict.code()).isEqualTo(2);
    assertThat(strict.out()).isEmpty();
  }
}
