package dev.zlayer.image.snapshot;

import dev.zlayer.host.linux.FileKind;
import dev.zlayer.host.linux.FileStat;
import dev.zlayer.host.linux.OpenDirectory;
import dev.zlayer.host.linux.OpenFile;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.host.linux.TreeCursor;
import dev.zlayer.host.linux.TreeWalk;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Copies one layer over a tree, doing what overlayfs would only show. Owned by one thread. */
final class LayerCopy {
  /** Where the first of several links to an inode was made. */
  private record Place(String directory, String name) {}

  private final RootedDirectory source;
  private final RootedDirectory target;
  private final Set<String> implied;
  private final Map<Long, Place> linked = new HashMap<>();

  LayerCopy(RootedDirectory source, RootedDirectory target, Set<String> implied) {
    this.source = source;
    this.target = target;
    this.implied = implied;
  }

  void run() throws IOException, InterruptedException {
    if (Metadata.opaque(source.root())) {
      clear(target.root());
    }
    FileStat before = target.root().stat(OpenDirectory.SELF);
    try (var made = new TreeCursor(target.root())) {
      TreeWalk.below(source.root(), copying(made));
    }
    if (implied.contains("")) {
      target.root().times(OpenDirectory.SELF, Metadata.times(before));
    } else {
      Metadata.copy(source.root(), OpenDirectory.SELF, target.root(), OpenDirectory.SELF);
    }
  }

  private TreeWalk.Visitor copying(TreeCursor to) {
    return new TreeWalk.Visitor() {
      // how the entered directories were before, where they were
      private final Deque<Optional<FileStat>> before = new ArrayDeque<>();

      @Override
      public void entry(OpenDirectory from, TreeWalk.Place at) throws IOException {
        removeIfThere(to.directory(), at.name());
        if (!at.stat().whiteout()) {
          other(from, to.directory(), at.name(), at.stat(), at.path());
        }
      }

      @Override
      public boolean enter(OpenDirectory entered, TreeWalk.Place at) throws IOException {
        before.push(directory(entered, to.directory(), at.name()));
        to.enter(at.name());
        return true;
      }

      @Override
      public void leave(OpenDirectory from, TreeWalk.Place at) throws IOException {
        to.leave();
        Optional<FileStat> was = before.pop();
        if (was.isPresent() && implied.contains(at.path())) {
          to.directory().times(at.name(), Metadata.times(was.get()));
        } else {
          Metadata.copy(from, at.name(), to.directory(), at.name());
        }
      }
    };
  }

  /** Makes a directory unless there is one that stays; returns what that one was like. */
  private Optional<FileStat> directory(OpenDirectory from, OpenDirectory to, String name)
      throws IOException {
    Optional<FileStat> before = to.find(name);
    if (before.isPresent()
        && (before.get().kind() != FileKind.DIRECTORY || Metadata.opaque(from))) {
      removeIfThere(to, name);
      before = Optional.empty();
    }
    if (before.isEmpty()) {
      to.makeDirectory(name);
    }
    return before;
  }

  private void other(OpenDirectory from, OpenDirectory to, String name, FileStat stat, String path)
      throws IOException {
    if (stat.links() > 1) {
      int slash = path.lastIndexOf('/');
      var here = new Place(slash < 0 ? "" : path.substring(0, slash), name);
      Place first = linked.putIfAbsent(stat.inode(), here);
      if (first != null) {
        to.makeLink(name, target.directory(first.directory()), first.name());
        return;
      }
    }
    switch (stat.kind()) {
      case FILE -> {
        try (OpenFile in = from.openFile(name);
            OpenFile out = to.createFile(name)) {
          out.copyFrom(in, stat.size());
        }
      }
      case SYMLINK -> to.makeSymlink(name, from.readSymlink(name));
      case CHARACTER_DEVICE, BLOCK_DEVICE, FIFO ->
          to.makeNode(name, stat.kind(), 0600, stat.major(), stat.minor());
      case DIRECTORY, SOCKET ->
          throw new IOException("a layer cannot hold a " + stat.kind() + " here");
    }
    Metadata.copy(from, name, to, name);
  }

  private static void clear(OpenDirectory directory) throws IOException, InterruptedException {
    List<String> names = new ArrayList<>();
    directory.visit(names::add);
    for (String name : names) {
      directory.remove(name);
    }
  }

  private void removeIfThere(OpenDirectory directory, String name) throws IOException {
    if (directory.find(name).isPresent()) {
      directory.remove(name);
      target.forget();
    }
  }
}
