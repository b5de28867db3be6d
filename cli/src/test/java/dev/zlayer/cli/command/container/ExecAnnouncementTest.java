package dev.zlayer.cli.command.container;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.host.file.Announcement;
import dev.zlayer.host.linux.OpenWatch;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** A command in a container is announced before it can be asked for. */
@EnabledOnOs(OS.LINUX)
@Timeout(60)
class ExecAnnouncementTest {
  @TempDir private Path directory;

  @Test
  void onlyExecIsAnnouncedAndOnlyToALocalAgent() throws Exception {
    Path socket = Files.createFile(directory.resolve("agent.sock")); // where nobody listens
    var reports = new Semaphore(0);
    try (var _ = OpenWatch.open(Announcement.make(socket), reports::release)) {
      var local = new CliFixture(directory, Map.of("ZLAYER_SOCKET", socket.toString()));
      assertThat(local.run("ps").err()).contains("no daemon");
      var remote = new CliFixture(directory, Map.of("ZLAYER_HOST", "tcp://127.0.0.1:1"));
      assertThat(remote.run("exec", "web", "true").err()).contains("cannot connect");
      assertThat(reports.availablePermits()).isZero();

      assertThat(local.run("exec", "web", "true").err()).contains("no daemon");
      assertThat(reports.tryAcquire(20, TimeUnit.SECONDS)).as("announced").isTrue();
    }
  }

  @Test
  void anAgentThatPreparesNothingIsAskedAsWell() throws Exception {
    Path socket = directory.resolve("agent.sock");
    var result =
        new CliFixture(directory, Map.of("ZLAYER_SOCKET", socket.toString()))
            .run("exec", "web", "true");
    assertThat(result.err()).contains("no daemon is running");
    assertThat(directory).isEmptyDirectory();
  }
}
