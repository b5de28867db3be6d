package dev.zlayer.image.snapshot;

import dev.zlayer.host.linux.FileKind;
import dev.zlayer.host.linux.FileStat;
import dev.zlayer.host.linux.OpenDirectory;
import dev.zlayer.host.linux.OpenFile;
import dev.zlayer.host.linux.RootedDirectory;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Copies one layer over a tree, doing what overlayfs would only show. Owned by one thread. */
final class LayerCopy {
  private static final int MAX_DEPTH = 1024;

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
    children(source.root(), target.root(), "", 0);
    if (implied.contains("")) {
      target.root().times(OpenDirectory.SELF, Metadata.times(before));
    } else {
      Metadata.copy(source.root(), OpenDirectory.SELF, target.root(), OpenDirectory.SELF);
    }
  }

  private void children(OpenDirectory from, OpenDirectory to, String path, int depth)
      throws IOException, InterruptedException {
    if (depth > MAX_DEPTH) {
      throw new IOException(
          "a directory is more than %d levels deep: too deep to be copied".formatted(MAX_DEPTH));
    }
    from.visit(
        name -> {
          if (Thread.interrupted()) {
            throw new InterruptedException("copying a layer was interrupted");
          }
          FileStat stat = from.stat(name);
          if (stat.whiteout()) {
            removeIfThere(to, name);
          } else if (stat.kind() == FileKind.DIRECTORY) {
            directory(from, to, name, path.isEmpty() ? name : path + "/" + name, depth);
          } else {
            removeIfThere(to, name);
            other(from, to, name, stat, path);
          }
        });
  }

  private void directory(OpenDirectory from, OpenDirectory to, String name, String path, int depth)
      throws IOException, InterruptedException {
    OpenDirectory below = from.enter(name);
    try {
      Optional<FileStat> before = to.find(name);
      if (before.isPresent()
          && (before.get().kind() != FileKind.DIRECTORY || Metadata.opaque(below))) {
        removeIfThere(to, name);
        before = Optional.empty();
      }
      if (before.isEmpty()) {
        to.makeDirectory(name);
      }
      OpenDirectory made = to.enter(name);
      try {
        children(below, made, path, depth + 1);
      } finally {
        made.close();
      }
      if (before.isPresent() && implied.contains(path)) {
        to.times(name, Metadata.times(before.get()));
      } else {
        Metadata.copy(from, name, to, name);
      }
    } finally {
      below.close();
    }
  }

  private void other(OpenDirectory from, OpenDirectory to, String name, FileStat stat, String path)
      throws IOException {
    if (stat.links() > 1) {
      Place first = linked.putIfAbsent(stat.inode(), new Place(path, name));
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
