package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.zlayer.container.IdRange;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.host.process.UserNamespace;
import dev.zlayer.task.Deadline;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class OverlayMountIT {
  @TempDir Path directory;

  @BeforeEach
  void needsRoot() {
    assumeTrue(System.getProperty("user.name").equals("root"), "run as root");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void stacksManyLayersWithLongAndOddNames(boolean old) throws Exception {
    Path home = Files.createDirectories(directory.resolve("n".repeat(120)).resolve("o,d:d\\"));
    List<Path> lowers = new ArrayList<>();
    for (int i = 0; i < 190; i++) {
      Path lower = Files.createDirectories(home.resolve("l".repeat(100) + i));
      Files.writeString(lower.resolve("file-" + i), "" + i);
      Files.writeString(lower.resolve("top"), "" + i);
      lowers.add(lower);
    }
    Path upper = Files.createDirectory(home.resolve("upper"));
    Path work = Files.createDirectory(home.resolve("work"));
    Path target = Files.createDirectory(home.resolve("target"));

    OverlayMount.mount(lowers, upper, work, target, Optional.empty(), old, false);

    try {
      assertThat(Mounts.mounted(target)).isTrue();
      assertThat(target.resolve("top")).hasContent("0");
      assertThat(target.resolve("file-189")).hasContent("189");
      Files.writeString(target.resolve("new"), "x");
      assertThat(upper.resolve("new")).hasContent("x");
    } finally {
      Mounts.unmount(target);
    }
    assertThat(Mounts.mounted(target)).isFalse();
  }

  @ParameterizedTest
  @CsvSource({"true,true", "false,true", "false,false"})
  void showsOtherOwnersThanThereAreOnTheDisk(boolean old, boolean attached) throws Exception {
    var ids = new IdRange(1_900_000_000);
    shareMounts(); // as systemd does with all of them
    List<Path> lowers = new ArrayList<>();
    for (int i = 0; i < 190; i++) {
      Path lower = Files.createDirectory(directory.resolve("lower" + i));
      Files.setAttribute(Files.writeString(lower.resolve("file" + i), "x"), "unix:uid", 7);
      lowers.add(lower);
    }
    Path upper = Files.createDirectory(directory.resolve("upper"));
    Path work = Files.createDirectory(directory.resolve("work"));
    Path target = Files.createDirectory(directory.resolve("target"));
    try (var namespace = UserNamespace.forMounts(ids);
        var mapping = IdMapping.open(namespace.users())) {
      OverlayMount.mount(lowers, upper, work, target, Optional.of(mapping), old, attached);
    }
    try {
      assertThat(Mounts.list())
          .filteredOn(
              mount -> mount.target().startsWith(directory) && !mount.target().equals(directory))
          .as("nothing but the mount itself is left")
          .singleElement()
          .satisfies(mount -> assertThat(mount.target()).isEqualTo(target));
      assertThat(directory.resolve(OverlayMount.ATTACHMENTS)).doesNotExist();
      assertThat(Files.getAttribute(target, "unix:uid")).isEqualTo((int) ids.first());
      for (String file : List.of("file0", "file189")) {
        assertThat(Files.getAttribute(target.resolve(file), "unix:uid"))
            .isEqualTo((int) ids.outside(7));
      }
      Path made = Files.writeString(target.resolve("made"), "x");
      Files.setAttribute(made, "unix:uid", (int) ids.outside(8));
      assertThat(Files.getAttribute(upper.resolve("made"), "unix:uid")).isEqualTo(8);
    } finally {
      Mounts.detach(directory);
    }
  }

  private void shareMounts() throws Exception {
    Deadline soon = Deadline.after(Duration.ofSeconds(20));
    String place = directory.toString();
    Processes.check(Command.of("mount", "--bind", place, place), soon);
    Processes.check(Command.of("mount", "--make-shared", place), soon);
  }

  /** As after a kill in the middle of a mount: layers, which others use, are attached still. */
  @Test
  void attachmentsThatWereLeftAreEndedAndNeverRemoved() throws Exception {
    Path layer = Files.createDirectory(directory.resolve("layer"));
    Files.writeString(layer.resolve("file"), "x");
    Path home = Files.createDirectory(directory.resolve("home"));
    Path attachments = Files.createDirectory(home.resolve(OverlayMount.ATTACHMENTS));
    Mounts.tmpfs(attachments, "mode=0700");
    try {
      Path place = Files.createDirectory(attachments.resolve("0"));
      BindMount.attach(layer, place, Optional.empty());
      BindMount.attach(layer, attachments, Optional.empty());

      assertThatThrownBy(() -> RootedDirectory.removeTree(home))
          .isInstanceOf(ErrnoException.class)
          .hasMessageContaining("a file system is mounted");
      assertThat(layer.resolve("file")).hasContent("x");
    } finally {
      OverlayMount.detachLayers(home);
    }
    assertThat(attachments).doesNotExist();
    RootedDirectory.removeTree(home);
    assertThat(home).doesNotExist();
    assertThat(layer.resolve("file")).hasContent("x");
    OverlayMount.detachLayers(home); // absent is fine
  }
}
