package dev.zlayer.runtime.observe;

import dev.zlayer.container.FileChange;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.ErrnoException;
import dev.zlayer.host.linux.FileKind;
import dev.zlayer.host.linux.FileStat;
import dev.zlayer.host.linux.OpenDirectory;
import dev.zlayer.host.linux.OverlayMount;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.host.linux.TreeWalk;
import dev.zlayer.task.BlockingPool;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Tells what a container changed, from what overlayfs keeps of it: only the changed files are
 * walked, however large the image is. A directory in which something changed is itself modified.
 */
public final class OverlayChanges implements AutoCloseable {
  private static final String OPAQUE = OverlayMount.ATTRIBUTES + "opaque";

  /** A list is made as a whole, and it is the container that decides how long it gets. */
  private static final long LARGEST = 16L << 20;

  /** What an entry takes beside its name. */
  private static final int ENTRY = 100;

  private final RootedDirectory upper;
  private final List<RootedDirectory> lowers = new ArrayList<>();
  private final List<FileChange> changes = new ArrayList<>();
  private long size;

  private OverlayChanges(RootedDirectory upper) {
    this.upper = upper;
  }

  /**
   * Compares.
   *
   * @param upper what was written
   * @param lowers what it was written over, the uppermost first
   */
  public static List<FileChange> list(Path upper, List<Path> lowers)
      throws IOException, InterruptedException {
    return BlockingPool.TREES.call(() -> listNow(upper, lowers));
  }

  private static List<FileChange> listNow(Path upper, List<Path> lowers)
      throws IOException, InterruptedException {
    try (var compared = new OverlayChanges(RootedDirectory.open(upper))) {
      for (Path lower : lowers) {
        compared.lowers.add(RootedDirectory.open(lower));
      }
      compared.compare();
      compared.changes.sort(Comparator.comparing(FileChange::path));
      return List.copyOf(compared.changes);
    }
  }

  @Override
  public void close() {
    lowers.forEach(RootedDirectory::close);
    upper.close();
  }

  private void compare() throws IOException, InterruptedException {
    if (opaque(upper.root())) {
      hidden("", upper.root());
    }
    // per entered directory: whether nothing below was there before
    var fresh = new ArrayDeque<Boolean>(List.of(false));
    TreeWalk.below(
        upper.root(),
        new TreeWalk.Visitor() {
          @Override
          public void entry(OpenDirectory parent, TreeWalk.Place at) throws IOException {
            OverlayChanges.this.entry(at, fresh.getFirst());
          }

          @Override
          public boolean enter(OpenDirectory directory, TreeWalk.Place at)
              throws IOException, InterruptedException {
            fresh.push(!entered(directory, at, fresh.getFirst()));
            return true;
          }

          @Override
          public void leave(OpenDirectory parent, TreeWalk.Place at) {
            fresh.pop();
          }
        });
  }

  private void entry(TreeWalk.Place at, boolean fresh) throws IOException {
    String path = at.path();
    boolean before = !fresh && before(path).isPresent();
    if (!at.stat().whiteout()) {
      add(path, before ? FileChange.Kind.MODIFIED : FileChange.Kind.ADDED);
    } else if (before) {
      add(path, FileChange.Kind.DELETED);
    }
  }

  /** Whether it was a directory before. */
  private boolean entered(OpenDirectory directory, TreeWalk.Place at, boolean fresh)
      throws IOException, InterruptedException {
    String path = at.path();
    Optional<FileStat> before = fresh ? Optional.empty() : before(path);
    add(path, before.isPresent() ? FileChange.Kind.MODIFIED : FileChange.Kind.ADDED);
    boolean kept = before.isPresent() && before.get().kind() == FileKind.DIRECTORY;
    if (kept && opaque(directory)) {
      hidden(path, directory);
    }
    return kept;
  }

  static boolean opaque(OpenDirectory directory) throws IOException {
    return directory.attributes(OpenDirectory.SELF).containsKey(OPAQUE);
  }

  /** A directory was deleted and made anew: what it had and has not any more is deleted. */
  private void hidden(String path, OpenDirectory anew) throws IOException, InterruptedException {
    Set<String> present = new HashSet<>();
    anew.visit(name -> present.add(counted(name)));
    Set<String> gone = new HashSet<>();
    for (RootedDirectory lower : lowers) {
      Optional<OpenDirectory> directory = find(lower, path);
      if (directory.isPresent()) {
        directory.get().visit(name -> gone.add(counted(name)));
      }
    }
    for (String name : gone) {
      String child = path + "/" + name;
      if (!present.contains(name) && before(child).isPresent()) {
        add(child, FileChange.Kind.DELETED);
      }
    }
  }

  /** What the image has at a path: the first layer from above that has it, or hides it. */
  private Optional<FileStat> before(String path) throws IOException {
    int slash = path.lastIndexOf('/');
    String parent = slash < 0 ? "" : path.substring(0, slash);
    String name = path.substring(slash + 1);
    for (RootedDirectory lower : lowers) {
      Optional<OpenDirectory> directory = find(lower, parent);
      if (directory.isPresent()) {
        Optional<FileStat> stat = directory.get().find(name);
        if (stat.isPresent()) {
          return stat.filter(found -> !found.whiteout());
        }
      }
      if (hides(lower, parent)) {
        return Optional.empty();
      }
    }
    return Optional.empty();
  }

  /** Whether a layer has something else than a directory, or an opaque one, on the way. */
  private static boolean hides(RootedDirectory lower, String path) throws IOException {
    String way = "";
    OpenDirectory at = lower.root();
    for (String component : path.isEmpty() ? new String[0] : path.split("/", -1)) {
      Optional<FileStat> stat = at.find(component);
      if (stat.isEmpty()) {
        return false;
      }
      if (stat.get().kind() != FileKind.DIRECTORY) {
        return true;
      }
      way = way.isEmpty() ? component : way + "/" + component;
      at = lower.directory(way);
      if (at.attributes(OpenDirectory.SELF).containsKey(OPAQUE)) {
        return true;
      }
    }
    return false;
  }

  /** Not through links: overlayfs compares names. */
  private static Optional<OpenDirectory> find(RootedDirectory lower, String path)
      throws IOException {
    String way = "";
    for (String component : path.isEmpty() ? new String[0] : path.split("/", -1)) {
      Optional<FileStat> stat = lower.directory(way).find(component);
      if (stat.isEmpty() || stat.get().kind() != FileKind.DIRECTORY) {
        return Optional.empty();
      }
      way = way.isEmpty() ? component : way + "/" + component;
    }
    try {
      return Optional.of(lower.directory(way));
    } catch (ErrnoException e) {
      if (e.errno() == ErrnoException.ENOENT) {
        return Optional.empty();
      }
      throw e;
    }
  }

  private void add(String path, FileChange.Kind kind) {
    changes.add(new FileChange("/" + InnerPath.readable(counted(path)), kind));
  }

  private String counted(String name) {
    size += name.length() + ENTRY;
    if (size > LARGEST) {
      throw new AgentException.Unsupported(
          "changes: %d and more paths are too many to list; list them inside with 'zlayer exec'"
              .formatted(changes.size()));
    }
    return name;
  }
}
