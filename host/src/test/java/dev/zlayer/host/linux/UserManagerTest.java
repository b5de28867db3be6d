package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class UserManagerTest {
  private static final String SERVICE = "/user.slice/user-1000.slice/user@1000.service";
  private static final String SESSION = "/user.slice/user-1000.slice/session-3.scope";

  @TempDir private Path root;

  private void file(String name, String text) throws IOException {
    Path file = root.resolve(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
  }

  private UserManager read() {
    return UserManager.read(root, "ann", 1000);
  }

  /** What an agent lacks for limits, as people read it. */
  private Optional<String> limits() {
    return read().limits("ann").map(lack -> lack.what() + ": " + lack.remedy());
  }

  @Test
  void eachThingThatLimitsNeedIsNamedWithItsRemedy() throws IOException {
    assertThat(limits().orElseThrow()).contains("version 2", "unified_cgroup_hierarchy");
    file("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n");
    assertThat(limits().orElseThrow()).contains("no systemd", "belongs to ann");
    Files.createDirectories(root.resolve("run/systemd/system"));
    assertThat(limits().orElseThrow()).contains("no manager for ann", "enable-linger ann");
    file("run/user/1000/systemd/private", "");
    file("sys/fs/cgroup" + SERVICE + "/cgroup.controllers", "memory pids\n");
    assertThat(limits().orElseThrow()).contains("limits of cpu", "Delegate=cpu memory pids");
    file("sys/fs/cgroup" + SERVICE + "/cgroup.controllers", "cpu memory pids\n");
    assertThat(limits().orElseThrow()).contains("unless the agent runs as a unit of ann");
    file("var/lib/systemd/linger/ann", "");
    assertThat(limits()).isEmpty();
  }

  @Test
  void containersStayOnlyWithTheManager() throws IOException {
    assertThat(read().staying("ann")).as("nobody ends them there").isEmpty();
    Files.createDirectories(root.resolve("run/systemd/system"));
    assertThat(read().staying("ann").orElseThrow().remedy())
        .isEqualTo("loginctl enable-linger ann");
    file("var/lib/systemd/linger/ann", "");
    assertThat(read().staying("ann")).isEmpty();
  }

  /** Without lingering it would take containers of a session with it. */
  @Test
  void groupsAreGivenToItsOwnUnitsAndToSessionsThatItOutlives() throws IOException {
    file("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n");
    file("sys/fs/cgroup" + SERVICE + "/cgroup.controllers", "cpu memory pids\n");
    assertThat(read().gives(SERVICE + "/app.slice/zlayer.service")).isFalse();
    file("run/user/1000/systemd/private", "");
    assertThat(read().gives(SERVICE + "/app.slice/zlayer.service")).isTrue();
    assertThat(read().gives(SESSION)).isFalse();
    file("var/lib/systemd/linger/ann", "");
    assertThat(read().gives(SESSION)).isTrue();
    assertThat(read().owns(SESSION)).isFalse();
    assertThat(read().owns(read().scope("zlayer-1.scope"))).isTrue();
    file("sys/fs/cgroup" + SERVICE + "/cgroup.controllers", "\n");
    assertThat(read().gives(SESSION)).isFalse();
  }
}
