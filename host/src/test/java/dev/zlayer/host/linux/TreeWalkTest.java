package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TreeWalkTest {
  private static final int HELD = 64;

  @TempDir Path directory;

  @AfterEach
  void remove() throws IOException {
    RootedDirectory.removeTree(directory.resolve("tree")); // JUnit takes minutes for a deep one
  }

  /** All that was visited, in order; a directory ends with a slash. */
  private static final class Recorder implements TreeWalk.Visitor {
    final List<String> visited = new ArrayList<>();
    int inside;

    @Override
    public void entry(OpenDirectory parent, TreeWalk.Place at) throws IOException {
      visited.add(at.path());
    }

    @Override
    public boolean enter(OpenDirectory entered, TreeWalk.Place at) throws IOException {
      inside++;
      visited.add(at.path() + "/");
      return !at.name().equals("closed");
    }

    @Override
    public void leave(OpenDirectory parent, TreeWalk.Place at) {
      inside--;
    }
  }

  /** Wide on every level that it goes down, so that names on all levels add up. */
  @Test
  void aWideAndDeepTreeIsVisitedOnceWithFewNamesHeld() throws Exception {
    Set<String> expected = new HashSet<>();
    Path at = Files.createDirectory(directory.resolve("tree"));
    String path = "";
    for (int level = 0; level < 40; level++) {
      for (int i = 0; i < 100; i++) {
        Files.createDirectory(at.resolve("d" + i));
        expected.add(path + "d" + i + "/");
      }
      Files.createFile(at.resolve("file"));
      expected.add(path + "file");
      at = at.resolve("d" + level);
      path += "d" + level + "/";
    }

    var recorder = new Recorder();
    int most = walk(recorder, HELD);

    assertThat(recorder.visited).hasSize(40 * 101).doesNotHaveDuplicates();
    assertThat(new HashSet<>(recorder.visited)).isEqualTo(expected);
    assertThat(recorder.inside).isZero();
    assertThat(most).isBetween(HELD / 2, HELD);
    assertThat(recorder.visited.getFirst()).as("files come first").isEqualTo("file");

    var unbounded = new Recorder();
    assertThat(walk(unbounded, Integer.MAX_VALUE)).isGreaterThan(10 * HELD);
    assertThat(new HashSet<>(unbounded.visited)).isEqualTo(expected);
  }

  @Test
  void oneVeryWideDirectoryIsReadInParts() throws Exception {
    Path tree = Files.createDirectory(directory.resolve("tree"));
    for (int i = 0; i < 5000; i++) {
      Files.createDirectory(tree.resolve("d" + i));
      Files.createFile(tree.resolve("f" + i));
    }
    var recorder = new Recorder();
    assertThat(walk(recorder, HELD)).isLessThanOrEqualTo(HELD);
    assertThat(recorder.visited).hasSize(10_000).doesNotHaveDuplicates();
    assertThat(recorder.visited.subList(0, 5000)).allMatch(name -> name.startsWith("f"));
  }

  @Test
  void whatIsNotEnteredIsLeftOut() throws Exception {
    Path tree = Files.createDirectory(directory.resolve("tree"));
    Files.createDirectories(tree.resolve("closed/inside"));
    Files.createDirectories(tree.resolve("open/inside"));
    var recorder = new Recorder();
    walk(recorder, HELD);
    assertThat(recorder.visited).containsExactlyInAnyOrder("closed/", "open/", "open/inside/");
  }

  @Test
  void aTreeWithoutEndIsRefused() throws Exception {
    Files.createDirectory(directory.resolve("tree"));
    try (var root = RootedDirectory.open(directory.resolve("tree"));
        var cursor = new TreeCursor(root.root())) {
      for (int level = 0; level <= TreeWalk.MAX_DEPTH; level++) {
        cursor.directory().makeDirectory("d");
        cursor.enter("d");
      }
    }
    var deepest = new int[1];
    var counting =
        new TreeWalk.Visitor() {
          @Override
          public void entry(OpenDirectory parent, TreeWalk.Place at) {}

          @Override
          public boolean enter(OpenDirectory entered, TreeWalk.Place at) {
            deepest[0] = at.depth();
            return true;
          }
        };
    assertThatThrownBy(() -> walk(counting, HELD))
        .isInstanceOf(ErrnoException.class)
        .hasMessageContaining("more than " + TreeWalk.MAX_DEPTH + " levels");
    assertThat(deepest[0]).isEqualTo(TreeWalk.MAX_DEPTH);
  }

  private int walk(TreeWalk.Visitor visitor, int held) throws Exception {
    try (var root = RootedDirectory.open(directory.resolve("tree"))) {
      return TreeWalk.below(root.root(), visitor, held);
    }
  }
}
