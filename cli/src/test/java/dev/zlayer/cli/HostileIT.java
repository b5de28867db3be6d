package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Images, containers and users of the machine that mean harm, against a whole daemon. */
@Timeout(180)
@Requires(
    value = {Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX},
    programs = "setpriv")
class HostileIT {
  private static final String CLEAR = "\033[2J\u009b1m\007";
  private static final String SHOWN = "\\u001b[2J\\u009b1m\\u0007";

  /** A user and a group that own nothing here. */
  private static final String NOBODY = "65534";

  @TempDir static Path directory;
  private static DaemonFixture daemon;

  @BeforeAll
  static void startADaemon() throws Exception {
    Files.createDirectories(directory.resolve("etc"));
    Files.writeString(directory.resolve("etc/zlayer.yml"), "socket_group: nogroup\n");
    // else the test's own directory would keep others out
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
    daemon = DaemonFixture.start(directory).withBusybox("localhost/busybox:test");
  }

  @AfterAll
  static void removeEverything() {
    if (daemon != null) {
      daemon.close();
    }
  }

  @Test
  void anImageWhoseDevIsALinkTouchesNothingOfTheHost() throws Exception {
    Path host = Files.createDirectory(directory.resolve("host"));
    Files.writeString(host.resolve("ptmx"), "of the host");
    load(
        ImageMaker.busybox().layer(TarEntry.symlink("dev", host.toString())), "localhost/dev:test");

    daemon.ok("run", "--rm", "--network", "none", "localhost/dev:test", "true");

    try (var found = Files.list(host)) {
      assertThat(found).containsExactly(host.resolve("ptmx"));
    }
    assertThat(host.resolve("ptmx")).hasContent("of the host");
  }

  @Test
  void escapeSequencesOfImagesAndContainersReachNoTerminal() {
    load(
        ImageMaker.busybox()
            .createdBy("RUN " + CLEAR)
            .label("evil" + CLEAR, "x")
            .workdir("/proc/self/" + CLEAR),
        "localhost/escapes:test");
    assertThat(daemon.ok("image", "history", "localhost/escapes:test"))
        .contains("RUN " + SHOWN)
        .doesNotContain("\033", "\u009b", "\007");
    assertThat(daemon.ok("image", "inspect", "localhost/escapes:test"))
        .doesNotContain("\033", "\u009b", "\007");
    CliFixture.Result refused =
        daemon.cli().run("run", "--rm", "--network", "none", "localhost/escapes:test", "true");
    assertThat(refused.code()).isNotZero();
    assertThat(refused.err())
        .contains("working directory '/proc/self/" + SHOWN)
        .doesNotContain("\033", "\u009b", "\007");

    String script =
        "exec sh -c 'sleep 300; true' \"$(printf 'evil\\033[2J\\302\\233\\007\\nfake row')\"";
    daemon.ok(
        "run",
        "-d",
        "--name",
        "escapes",
        "--network",
        "none",
        "localhost/busybox:test",
        "sh",
        "-c",
        script);
    try {
      String top =
          Awaitility.await()
              .atMost(Duration.ofSeconds(30))
              .until(() -> daemon.ok("top", "escapes"), shown -> shown.contains("evil\\u001b[2J"));
      assertThat(top).doesNotContain("\033", "\u009b", "\007", "\nfake row");
      assertThat(top).contains("evil\\u001b[2J");
      assertThat(daemon.ok("ps")).doesNotContain("\033", "\u009b", "\007");
    } finally {
      daemon.ok("rm", "-f", "escapes");
    }
  }

  @Test
  void anotherUserReachesNothingButTheSockets() throws Exception {
    daemon.ok(
        "run",
        "-d",
        "--name",
        "private",
        "--network",
        "none",
        "localhost/busybox:test",
        "sleep",
        "300");
    try {
      Path data = daemon.dataDirectory();
      CommandResult found = nobody("find", data.toString(), "-mindepth", "1");
      assertThat(found.stdout()).isEmpty();
      try (var all = Files.walk(data.resolve("run"), 1)) {
        for (Path path : all.filter(Files::isDirectory).toList()) {
          if (!path.equals(data.resolve("run"))) {
            assertThat(nobody("ls", path.toString()).success()).as("%s", path).isFalse();
            assertThat(nobody("test", "-x", path.toString()).success()).as("%s", path).isFalse();
          }
        }
      }
      var shared = new ArrayList<Path>();
      try (var containers = Files.list(data.resolve("run/containers"))) {
        containers.map(path -> path.resolve("shm")).forEach(shared::add);
      }
      assertThat(shared).isNotEmpty().allMatch(Files::isDirectory);
      for (Path shm : shared) {
        assertThat(nobody("sh", "-c", "echo x > " + shm + "/x").success()).isFalse();
        assertThat(shm.resolve("x")).doesNotExist();
      }
      for (String file :
          List.of("lock", "state.db", "secret.key", "daemon.log", "run/zlayer.pid")) {
        assertThat(data.resolve(file)).exists();
        assertThat(nobody("cat", data.resolve(file).toString()).success()).as(file).isFalse();
      }
      assertThat(nobody("test", "-w", data.resolve("run/zlayer.sock").toString()).success())
          .as("a member of socket_group reaches the socket")
          .isTrue();
    } finally {
      daemon.ok("rm", "-f", "private");
    }
  }

  /** Root copies: what was a user's inside, or could not be opened there, would become root's. */
  @Test
  void filesOfAContainerAreDisarmedWhenTheyAreCopied() throws Exception {
    String script =
        "mkdir /armed; cp /bin/busybox /armed/shell; chown 1000 /armed/shell;"
            + " chmod 6755 /armed/shell; mknod -m 666 /armed/disk b 7 0";
    String[] run = {"run", "--name", "armed", "--network", "none", "localhost/busybox:test"};
    var words = new ArrayList<>(List.of(run));
    words.addAll(List.of("sh", "-c", script));
    daemon.ok(words.toArray(String[]::new));
    try {
      for (String target : List.of("renamed", ".")) {
        CliFixture.Result copied = daemon.cli().run("cp", "armed:/armed", target);
        assertThat(copied.code()).as(copied.err()).isZero();
        assertThat(copied.err()).contains("skipped device 'armed/disk'");
        Path files = directory.resolve(target.equals(".") ? "armed" : target);
        assertThat((int) Files.getAttribute(files.resolve("shell"), "unix:mode") & 07777)
            .isEqualTo(0755);
        assertThat(files.resolve("disk")).doesNotExist();
      }
    } finally {
      daemon.ok("rm", "-f", "armed");
    }
  }

  private static CommandResult nobody(String... words) throws InterruptedException {
    var command =
        new ArrayList<>(
            List.of("setpriv", "--reuid=" + NOBODY, "--regid=" + NOBODY, "--clear-groups"));
    command.addAll(List.of(words));
    return Processes.run(Command.of(command), Deadline.after(Duration.ofSeconds(30)));
  }

  private static void load(ImageMaker maker, String name) {
    CliFixture.Result loaded =
        daemon.cli().runWithInput(maker.make().dockerArchive(name), "image", "load", "--json");
    assertThat(loaded.code()).as(loaded.err()).isZero();
  }
}
