package dev.zlayer.cli.command.system;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.host.linux.Links;
import dev.zlayer.host.linux.Mounts;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A machine that zlayer leaves is as it was. */
@Timeout(180)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class UninstallIT {
  private static final String IMAGE = "localhost/leave:1";
  private static final int NOBODY = 65_534;

  @TempDir private Path directory;

  @Test
  void nothingIsLeft() throws Exception {
    try (var daemon = DaemonFixture.start(directory).withBusybox(IMAGE)) {
      String prefix = daemon.env().get("ZLAYER_NETWORK_PREFIX");
      Path file = directory.resolve("shop.yml");
      Files.writeString(
          file,
          """
          version: v1
          deployment: leaving
          services:
            web:
              image: {name: "%s", pull_policy: never}
              stop_grace_period: 1s
              storage: [{type: named, name: goods, target: /d}]
              command: [sleep, "1000"]
          """
              .formatted(IMAGE));
      daemon.ok("up", file.toString());
      daemon.ok("network", "create", "extra");
      daemon.ok("run", "-d", "--name", "single", "--network", "extra", IMAGE, "sleep", "1000");
      daemon.ok("volume", "create", "spare");
      long pid = daemon.json("daemon", "status", "--json").at("pid").integer().orElseThrow();
      assertThat(tables()).contains(prefix);

      assertThat(daemon.ok("system", "uninstall", "--dry-run"))
          .contains("deployment leaving")
          .contains("container single")
          .contains("volume goods")
          .contains("volume spare")
          .contains("network extra")
          .contains("1 images")
          .contains("directory " + daemon.dataDirectory());
      CliFixture.Result asked = daemon.cli().run("system", "uninstall");
      assertThat(asked.code()).isNotZero();
      assertThat(asked.err()).contains("--force");
      Path socket = daemon.dataDirectory().resolve("run/zlayer.sock");
      Files.setAttribute(socket, "unix:uid", NOBODY);
      assertThat(daemon.cli().run("system", "uninstall", "--force").err())
          .as("a daemon of somebody else could name any directory")
          .contains("belongs to user", "run this command as that user");
      Files.setAttribute(socket, "unix:uid", 0);
      assertThat(daemon.ok("ps")).as("nothing was removed yet").contains("single");

      daemon.ok("system", "uninstall", "--force");

      assertThat(daemon.dataDirectory()).doesNotExist();
      assertThat(ProcessHandle.of(pid).filter(ProcessHandle::isAlive)).isEmpty();
      assertThat(tables()).doesNotContain(prefix);
      assertThat(Links.names()).noneMatch(name -> name.startsWith(prefix));
      assertThat(Mounts.list()).noneMatch(mount -> mount.target().startsWith(directory));
      assertThat(
              ProcessHandle.allProcesses()
                  .flatMap(process -> process.info().commandLine().stream())
                  .filter(line -> line.contains(daemon.dataDirectory() + "/")))
          .isEmpty();
      assertThat(file).as("a file of the user stays").exists();
    }
  }

  private static String tables() throws InterruptedException {
    return Processes.run(
            Command.of("nft", "list", "tables"), Deadline.after(Duration.ofSeconds(20)))
        .stdout();
  }
}
