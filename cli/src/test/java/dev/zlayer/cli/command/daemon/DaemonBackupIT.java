package dev.zlayer.cli.command.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The state of a running daemon becomes that of another one. */
@Timeout(180)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class DaemonBackupIT {
  private static final String IMAGE = "localhost/backup:1";
  private static final String SHOP =
      """
      version: v1
      deployment: shop
      services:
        web:
          image: {name: "localhost/backup:1", pull_policy: never}
          command: {args: [sh, -c, "echo $WORD; exec sleep 1000"]}
          stop_signal: KILL
          env: {WORD: "$S:word"}
          scale: {mode: fixed, replicas: 2}
        report:
          rtype: job
          image: {name: "localhost/backup:1", pull_policy: never}
          command: [sh, -c, "echo kept > /tmp/result; echo reported; exit 4"]
          job: {artifacts: [/tmp/result], retries: 0}
        nightly:
          rtype: cron
          schedule: "0 3 * * *"
          image: {name: "localhost/backup:1", pull_policy: never}
          command: ["true"]
      """;

  @TempDir Path first;
  @TempDir Path second;
  private DaemonFixture daemon;
  private DaemonFixture other;

  @BeforeEach
  void start() throws Exception {
    daemon = DaemonFixture.start(first).withBusybox(IMAGE);
    Files.writeString(first.resolve("shop.yml"), SHOP);
    other = DaemonFixture.in(second);
  }

  @AfterEach
  void close() {
    try (var _ = daemon;
        var _ = other) {
      // both, whatever happens to one of them
    }
  }

  private static void secret(DaemonFixture daemon, String value) {
    CliFixture.Result set =
        daemon.cli().runWithInput(value.getBytes(StandardCharsets.UTF_8), "secret", "set", "word");
    assertThat(set.code()).as(set.err()).isZero();
  }

  @Test
  void everythingIsDeployedAgain() throws Exception {
    secret(daemon, "hidden-word");
    daemon.ok("network", "create", "backnet", "--subnet", "10.213.7.0/24");
    daemon.ok("up", "shop.yml", "--wait", "60s");
    assertThat(daemon.cli().run("job", "run", "--wait", "shop/report").code()).isEqualTo(4);
    Path backup = first.resolve("state.tar");
    daemon.ok("daemon", "backup", backup.toString());
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(backup)))
        .as("it holds the key of the secrets")
        .isEqualTo("rw-------");
    assertThat(daemon.ok("ps", "--quiet").lines()).as("the daemon went on").hasSize(2);
    assertThat(daemon.dataDirectory().resolve("backup.partial")).doesNotExist();
    daemon.ok("down", "shop"); // its ports and names are for the other one
    daemon.ok("network", "rm", "backnet");

    other.restart();
    other.withBusybox(IMAGE); // which no registry has
    other.ok("daemon", "stop");
    other.ok("daemon", "restore", "--replace", backup.toString());
    assertThat(other.dataDirectory().resolve("restore.partial")).doesNotExist();
    other.restart();
    org.awaitility.Awaitility.await()
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(100))
        .untilAsserted(() -> assertThat(other.ok("ps", "--quiet").lines()).hasSize(2));
    org.awaitility.Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .pollInterval(Duration.ofMillis(100))
        .untilAsserted(
            () -> {
              String id = other.ok("ps", "--quiet").lines().findFirst().orElseThrow();
              assertThat(inside(other, id)).contains("hidden-word");
            });
    assertThat(other.ok("job", "status", "shop/report")).contains("failed (4)");
    assertThat(other.ok("job", "logs", "shop/report")).isEqualTo("reported\n");
    Path kept = second.resolve("kept");
    other.ok("job", "artifacts", "shop/report", "/tmp/result", "--output", kept.toString());
    sh("test \"$(tar -xOf kept)\" = kept", second);
    assertThat(other.ok("cron", "ls")).contains("nightly");
    assertThat(other.ok("network", "ls")).contains("backnet");
    other.ok("network", "rm", "backnet");
  }

  private static String inside(DaemonFixture daemon, String id) {
    return daemon.ok("exec", id, "sh", "-c", "cat /proc/1/environ");
  }

  @Test
  void whatCannotBeRestoredIsRefusedAndNothingIsChanged() throws Exception {
    secret(daemon, "one");
    Path backup = first.resolve("state.tar");
    daemon.ok("daemon", "backup", backup.toString());

    assertThat(daemon.cli().run("daemon", "restore", backup.toString()))
        .returns(1, CliFixture.Result::code)
        .extracting(CliFixture.Result::err)
        .asString()
        .contains("is in use by process");

    other.restart();
    secret(other, "two");
    other.ok("daemon", "stop");
    CliFixture.Result occupied = other.cli().run("daemon", "restore", backup.toString());
    assertThat(occupied.code()).isEqualTo(2);
    assertThat(occupied.err()).contains("already holds the state of a daemon", "--replace");

    // as if a restore had been killed while it replaced the state
    Path mark = Files.createFile(other.dataDirectory().resolve("restore.unfinished"));
    assertThat(other.cli().run("daemon", "start").err()).contains("daemon restore --replace");
    Files.delete(mark);

    Path newer = edited(backup, "s/\"format\": *1/\"format\": 99/");
    CliFixture.Result refused = other.cli().run("daemon", "restore", "--replace", newer.toString());
    assertThat(refused.code()).isEqualTo(2);
    assertThat(refused.err()).contains("has format 99", "reads up to 1", "a later one");

    sh(
        "mkdir x && tar -C x -xf state.tar && ln -sf /etc/hostname x/secret.key"
            + " && tar -C x -cf linked.tar .",
        first);
    assertThat(
            other
                .cli()
                .run("daemon", "restore", "--replace", first.resolve("linked.tar").toString())
                .err())
        .as("a link in place of a file")
        .contains("the backup is not complete");

    Path none = first.resolve("none.tar");
    sh("tar -cf none.tar shop.yml", first);
    assertThat(other.cli().run("daemon", "restore", "--replace", none.toString()).err())
        .contains("is not a backup of a daemon");
    Files.writeString(none, "no archive at all");
    assertThat(other.cli().run("daemon", "restore", "--replace", none.toString()).code())
        .isEqualTo(2);
    assertThat(other.cli().run("daemon", "restore", "nowhere.tar").err()).contains("nowhere.tar");

    other.restart();
    assertThat(fingerprint(other)).as("as it was").isNotEqualTo(fingerprint(daemon));
    other.ok("daemon", "stop");
    other.ok("daemon", "restore", "--replace", backup.toString());
    other.restart();
    assertThat(fingerprint(other)).isEqualTo(fingerprint(daemon));
  }

  @Test
  void aBackupIsOneMomentWhileThereAreWrites() throws Exception {
    Thread writer =
        Thread.ofVirtual()
            .start(
                () -> {
                  for (int i = 0; i < 60; i++) {
                    secret(daemon, "value" + i);
                  }
                });
    for (int i = 0; i < 4; i++) {
      daemon.ok("daemon", "backup", first.resolve("b" + i + ".tar").toString());
    }
    writer.join();
    for (int i = 0; i < 4; i++) {
      other.ok("daemon", "restore", "--replace", first.resolve("b" + i + ".tar").toString());
    }
    other.restart();
    assertThat(other.json("daemon", "status", "--json").at("running").bool()).contains(true);
    assertThat(other.json("info", "--json").at("damages").strings()).isEmpty();
  }

  private static String fingerprint(DaemonFixture daemon) {
    Json secret = daemon.json("secret", "ls", "--json").items().getFirst();
    return secret.at("fingerprint").string().orElseThrow();
  }

  /** Another archive, whose description of itself is changed. */
  private Path edited(Path backup, String expression) throws Exception {
    sh(
        "mkdir edit && tar -C edit -xpf %s && sed -i '%s' edit/zlayer-backup.json && tar -C edit -cf edited.tar ."
            .formatted(backup, expression),
        first);
    return first.resolve("edited.tar");
  }

  private static void sh(String script, Path in) throws InterruptedException {
    var result =
        Processes.run(
            Command.of("sh", "-c", script).in(in), Deadline.after(Duration.ofSeconds(30)));
    assertThat(result.code()).as(result.stderr()).isZero();
  }
}
