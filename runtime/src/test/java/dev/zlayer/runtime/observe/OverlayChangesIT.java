package dev.zlayer.runtime.observe;

import static dev.zlayer.container.FileChange.Kind.ADDED;
import static dev.zlayer.container.FileChange.Kind.DELETED;
import static dev.zlayer.container.FileChange.Kind.MODIFIED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.FileChange;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Requires({Fact.ROOT, Fact.OVERLAYFS})
class OverlayChangesIT {
  @TempDir Path directory;

  @BeforeEach
  void mount() throws Exception {
    sh(
        """
        mkdir low1 low2 upper work merged
        mkdir -p low1/etc low1/old/deep low1/gone low1/kept low2/etc
        echo 1 >low1/etc/a; echo 1 >low1/etc/b; echo 1 >low1/old/deep/x; echo 1 >low1/old/y
        echo 1 >low1/gone/z; echo 1 >low1/kept/k; echo 2 >low2/etc/c; echo 1 >low1/file
        mknod low2/etc/b c 0 0
        mount -t overlay overlay -o lowerdir=low2:low1,upperdir=upper,workdir=work merged
        """);
  }

  @AfterEach
  void unmount() throws Exception {
    sh("umount merged; rm -rf upper"); // JUnit takes minutes for a deep tree
  }

  private void sh(String script) throws Exception {
    Processes.check(
        Command.of("sh", "-ec", script).in(directory), Deadline.after(Duration.ofSeconds(30)));
  }

  private List<FileChange> changes() throws Exception {
    return OverlayChanges.list(
        directory.resolve("upper"), List.of(directory.resolve("low2"), directory.resolve("low1")));
  }

  @Test
  void nothingIsToldOfAContainerThatOnlyRead() throws Exception {
    sh("cat merged/etc/a >/dev/null");
    assertThat(changes()).isEmpty();
  }

  @Test
  void aTreeDeeperThanTheStackIsCompared() throws Exception {
    String hundred = "d/".repeat(100);
    sh(
        "cd merged/kept; i=0; while [ $i -lt 1500 ]; do mkdir -p %s; cd %s; i=$((i + 100)); done"
            .formatted(hundred, hundred));
    assertThat(changes())
        .hasSize(1501)
        .contains(new FileChange("/kept" + "/d".repeat(1500), ADDED));
  }

  @Test
  void aListThatWouldFillTheMemoryIsRefused() throws Exception {
    String name = "d".repeat(200);
    sh(
        "cd merged/kept; i=0; while [ $i -lt 19 ]; do mkdir %1$s; cd %1$s; i=$((i + 1)); done;"
                .formatted(name)
            + " while [ $i -lt 5000 ]; do : >$i; i=$((i + 1)); done");
    assertThatThrownBy(this::changes)
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("too many to list");
  }

  @Test
  void tellsAddedModifiedAndDeleted() throws Exception {
    sh(
        """
        cd merged
        echo 9 >etc/a; echo 9 >etc/b; rm etc/c; rm -r gone; mkdir -p new/dir; echo 9 >new/dir/f
        rm -r old; mkdir old; echo 9 >old/y; rm file; mkdir file; echo 9 >file/below
        """);
    assertThat(changes())
        .containsExactlyInAnyOrder(
            new FileChange("/etc", MODIFIED),
            new FileChange("/etc/a", MODIFIED),
            new FileChange("/etc/b", ADDED), // an upper layer of the image had deleted it
            new FileChange("/etc/c", DELETED),
            new FileChange("/gone", DELETED),
            new FileChange("/new", ADDED),
            new FileChange("/new/dir", ADDED),
            new FileChange("/new/dir/f", ADDED),
            new FileChange("/old", MODIFIED),
            new FileChange("/old/deep", DELETED),
            new FileChange("/old/y", MODIFIED),
            new FileChange("/file", MODIFIED),
            new FileChange("/file/below", ADDED));
  }

  @Test
  void whatWasMadeAndDeletedAgainIsNoChange() throws Exception {
    sh("echo 9 >merged/kept/t; rm merged/kept/t");
    assertThat(changes()).containsExactly(new FileChange("/kept", MODIFIED));
  }
}
