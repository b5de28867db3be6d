package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.host.file.Announcement;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

@EnabledOnOs(OS.LINUX)
@Timeout(60)
class OpenWatchTest {
  @TempDir private Path directory;

  @Test
  void everyAnnouncementIsReported() throws Exception {
    Path socket = Files.createFile(directory.resolve("agent.sock"));
    var reports = new Semaphore(0);
    try (var _ = OpenWatch.open(Announcement.make(socket), reports::release)) {
      for (int i = 0; i < 5; i++) {
        Announcement.announce(socket);
        assertThat(reports.tryAcquire(20, TimeUnit.SECONDS)).as("report " + i).isTrue();
      }
      for (int i = 0; i < 100; i++) {
        Announcement.announce(socket);
      }
      assertThat(reports.tryAcquire(20, TimeUnit.SECONDS)).isTrue();
    }
    reports.drainPermits();
    Announcement.announce(socket);
    assertThat(reports.availablePermits()).as("closed").isZero();
  }

  @Test
  void nothingIsMadeByThoseWhoAnnounce() {
    Path socket = directory.resolve("agent.sock");
    Announcement.announce(socket);
    Announcement.announce(directory.resolve("no/such/directory/agent.sock"));
    assertThat(directory).isEmptyDirectory();
    assertThatThrownBy(() -> OpenWatch.open(Announcement.of(socket), () -> {}))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("no such file");
  }

  @Test
  void onlyThoseWhoMayConnectMayAnnounce() throws Exception {
    Path socket = Files.createFile(directory.resolve("agent.sock"));
    Path file = Announcement.make(socket);
    assertThat(Announcement.make(socket)).as("of an agent before").isEqualTo(file);
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-r-----");
    assertThat(Files.getAttribute(file, "unix:gid"))
        .isEqualTo(Files.getAttribute(socket, "unix:gid"));
  }
}
