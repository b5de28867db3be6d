package dev.zlayer.cli.command.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Volumes survive as an archive, and those who use them survive the making of it. */
@Timeout(180)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class VolumeBackupIT {
  private static final String IMAGE = "localhost/backup:1";

  @TempDir private static Path directory;
  private static DaemonFixture daemon;

  @BeforeAll
  static void start() {
    daemon = DaemonFixture.start(directory).withBusybox(IMAGE);
  }

  @AfterAll
  static void close() {
    daemon.close();
  }

  private static ConditionFactory soon() {
    return Awaitility.await().atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofMillis(50));
  }

  private static Path volume(String name) {
    return Path.of(daemon.json("volume", "inspect", name).at("path").string().orElseThrow());
  }

  private static String host(String script, Path in) throws InterruptedException {
    CommandResult result =
        Processes.run(
            Command.of("sh", "-c", script).in(in), Deadline.after(Duration.ofSeconds(30)));
    assertThat(result.code()).as(result.stderr()).isZero();
    return result.stdout();
  }

  private static String status(String container) {
    return daemon.json("inspect", container).at("container").at("state").string().orElse("");
  }

  @Test
  void anArchiveKeepsEverything() throws Exception {
    daemon.ok("volume", "create", "whole");
    Path volume = volume("whole");
    host(
        """
        set -e
        mkdir sub; echo text > sub/file; chmod 4751 sub/file; chown 12:34 sub/file
        ln sub/file hard; ln -s sub/file soft; ln -s /nowhere dangling; mkfifo pipe
        setfattr -n user.colour -v green sub
        truncate -s 64M sparse; printf end >> sparse
        touch -d '2001-02-03 04:05:06.789' sub/file
        chown 70:71 .; chmod 2770 .
        """,
        volume);
    Path archive = directory.resolve("whole.tar");

    daemon.ok("volume", "backup", "whole", archive.toString());
    assertThat(Files.size(archive)).as("holes take no space").isLessThan(1 << 20);
    daemon.ok("volume", "restore", "copy", archive.toString());

    String listing =
        "find . -printf '%P %M %U %G %l %n %s %T@\\n' | sort; getfattr -d sub; md5sum sparse";
    assertThat(host(listing, volume("copy"))).isEqualTo(host(listing, volume));
    long blocks = Long.parseLong(host("stat -c %b sparse", volume("copy")).strip());
    assertThat(blocks).isLessThan(2048);
    assertThat(host("tar -tf " + archive, directory)).contains("sub/file");
    assertThat(host("test hard -ef sub/file && echo same", volume("copy"))).contains("same");

    CliFixture.Bytes streamed = daemon.cli().bytes("volume", "backup", "whole", "-");
    assertThat(streamed.code()).isZero();
    assertThat(streamed.out()).isEqualTo(Files.readAllBytes(archive));
  }

  /** A daemon that was killed while it filled a volume leaves them beside it. */
  @Test
  void filesOfAnImageThatWereOnTheirWayDoNotReachARestoredVolume() throws Exception {
    daemon.ok("volume", "create", "late");
    host("echo mine > own", volume("late"));
    Path archive = directory.resolve("late.tar");
    daemon.ok("volume", "backup", "late", archive.toString());
    Path beside = volume("late").resolveSibling(".filled-late");
    Files.writeString(Files.createDirectory(beside).resolve("foreign"), "of an image");

    daemon.ok("volume", "restore", "--replace", "late", archive.toString());
    assertThat(daemon.ok("run", "--rm", "-v", "late:/d", IMAGE, "ls", "/d")).isEqualTo("own\n");

    Files.writeString(Files.createDirectory(beside).resolve("foreign"), "of an image");
    daemon.ok("volume", "rm", "late");
    daemon.ok("volume", "create", "late");
    assertThat(daemon.ok("run", "--rm", "-v", "late:/d", IMAGE, "ls", "/d")).isEmpty();
  }

  @Test
  void anArchiveThatLeavesTheVolumeWritesNothingOutsideOfIt() throws Exception {
    Path outside = Files.createDirectory(directory.resolve("outside"));
    Files.writeString(outside.resolve("target"), "kept");
    Path work = Files.createDirectory(directory.resolve("hostile"));
    host(
        """
        set -e
        ln -s %1$s through; tar -cf ../through.tar through; rm through
        mkdir through; echo x > through/planted; echo x > through/target
        tar -rf ../through.tar through/planted through/target
        echo x > x
        tar -P --transform 's,^x$,../../../../../../../../%1$s/planted,' -cf ../above.tar x
        tar -P --transform 's,^x$,%1$s/planted,' -cf ../absolute.tar x
        echo linked > a; ln a b
        tar -P --transform 's,^a$,%1$s/target,S' --transform 'flags=h;s,^a$,%1$s/target,' -cf ../hard.tar a b
        """
            .formatted(outside),
        work);

    for (String name : List.of("through", "above", "absolute", "hard")) {
      CliFixture.Result result =
          daemon
              .cli()
              .run("volume", "restore", "v" + name, directory.resolve(name + ".tar").toString());
      assertThat(result.err()).as(name).doesNotContain("Exception", "\tat ");
      assertThat(outside.resolve("planted")).as(name).doesNotExist();
      assertThat(outside.resolve("target")).as(name).hasContent("kept");
    }
  }

  @Test
  void usersArePausedAndContinueWhenTheClientLeavesOrTheDaemonIsKilled() throws Exception {
    daemon.ok("run", "-d", "--name", "writer", "-v", "busy:/d", IMAGE, "sleep", "1000");
    host("head -c 48M /dev/urandom > big", volume("busy"));

    CliFixture.Result refused = daemon.cli().run("volume", "backup", "busy", "-");
    assertThat(refused.code()).isNotZero();
    assertThat(refused.err()).contains("used by writer").contains("choose --pause or --stop");

    // nobody reads what it prints, so the backup stays in its middle
    Process client = backup("--pause", "busy");
    soon().until(() -> status("writer").equals("paused"));
    client.destroyForcibly().waitFor();
    soon().until(() -> status("writer").equals("running"));

    client = backup("--pause", "busy");
    soon().until(() -> status("writer").equals("paused"));
    daemon.kill();
    client.destroyForcibly().waitFor();
    daemon.restart();
    soon().until(() -> status("writer").equals("running"));

    Path archive = directory.resolve("busy.tar");
    daemon.ok("volume", "backup", "--pause", "busy", archive.toString());
    assertThat(status("writer")).isEqualTo("running");
    daemon.ok("pause", "writer");
    daemon.ok("volume", "backup", "--pause", "busy", archive.toString());
    assertThat(status("writer")).as("it was paused before").isEqualTo("paused");
    daemon.ok("unpause", "writer");

    CliFixture.Result inUse = daemon.cli().run("volume", "restore", "busy", archive.toString());
    assertThat(inUse.code()).isNotZero();
    assertThat(inUse.err()).contains("used by writer").contains("stop them first");
    daemon.ok("rm", "-f", "writer");
    CliFixture.Result full = daemon.cli().run("volume", "restore", "busy", archive.toString());
    assertThat(full.code()).isNotZero();
    assertThat(full.err()).contains("not empty").contains("--replace");

    // an archive that is cut short changes nothing
    byte[] bytes = Files.readAllBytes(archive);
    byte[] half = Arrays.copyOf(bytes, bytes.length / 2);
    host("echo mine > mine", volume("busy"));
    CliFixture.Result cut =
        daemon.cli().runWithInput(half, "volume", "restore", "--replace", "busy", "-");
    assertThat(cut.code()).isNotZero();
    assertThat(volume("busy").resolve("mine")).exists();

    daemon.ok("volume", "restore", "--replace", "busy", archive.toString());
    assertThat(volume("busy").resolve("mine")).doesNotExist();
    assertThat(volume("busy").resolve("big")).hasSize(48 << 20);
  }

  private static Process backup(String... arguments) {
    var words = new java.util.ArrayList<>(List.of("volume", "backup"));
    words.addAll(List.of(arguments));
    return Processes.start(
        Command.of(daemon.process(words.toArray(String[]::new))).withEnv(daemon.env()));
  }

  @Test
  void servicesAndContainersAreStoppedAndStartedAgain() throws Exception {
    Path file = directory.resolve("shop.yml");
    Files.writeString(
        file,
        """
        version: v1
        deployment: shop
        services:
          db:
            image: {name: "%s", pull_policy: never}
            network_mode: none
            stop_grace_period: 10s
            storage: [{type: named, name: shared, target: /d}]
            command: [sh, -c, "trap 'echo db-ended >> /d/ends; exit 0' TERM; while :; do sleep 0.1; done"]
        """
            .formatted(IMAGE));
    daemon.ok("up", file.toString());
    daemon.ok(
        "run",
        "-d",
        "--name",
        "reader",
        "-v",
        "shared:/d",
        IMAGE,
        "sh",
        "-c",
        "trap 'echo reader-ended >> /d/ends; exit 0' TERM; while :; do sleep 0.1; done");
    daemon.ok("run", "-d", "--rm", "--name", "brief", "-v", "shared:/d", IMAGE, "sleep", "1000");
    Path archive = directory.resolve("shared.tar");
    CliFixture.Result refused =
        daemon.cli().run("volume", "backup", "--stop", "shared", archive.toString());
    assertThat(refused.code()).isNotZero();
    assertThat(refused.err()).contains("brief").contains("--pause");
    assertThat(archive).doesNotExist();
    daemon.ok("rm", "-f", "brief");

    daemon.ok("volume", "backup", "--stop", "shared", archive.toString());

    assertThat(host("tar -xOf shared.tar ends", directory).lines())
        .containsExactlyInAnyOrder("db-ended", "reader-ended");
    soon().until(() -> status("reader").equals("running"));
    soon()
        .until(
            () -> {
              Json shown = daemon.json("status", "shop", "--json");
              return shown.toString().contains("running");
            });
    daemon.ok("exec", "shop/db", "true");
  }
}
