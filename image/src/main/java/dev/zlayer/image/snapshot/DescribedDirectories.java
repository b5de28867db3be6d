package dev.zlayer.image.snapshot;

import dev.zlayer.host.linux.FileKind;
import dev.zlayer.host.linux.FileStat;
import dev.zlayer.host.linux.OpenDirectory;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.image.layer.LayerStore;
import dev.zlayer.oci.Digest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * Finds out what directories are like that a layer only implied. A layer with {@code tmp/file} but
 * no entry {@code tmp} must not change what a lower layer said about {@code tmp}; unpacked alone it
 * had to make one up, and overlayfs shows the topmost.
 */
final class DescribedDirectories implements AutoCloseable {
  private record Layer(RootedDirectory tree, Set<String> implied) {}

  /** What one layer says about a path. */
  private enum Answer {
    DESCRIBED,
    IMPLIED,
    NOTHING,
    /** Nor may any lower layer be asked. */
    HIDDEN
  }

  private final List<Layer> topFirst = new ArrayList<>();

  DescribedDirectories(LayerStore layers, List<Digest> topFirst) throws IOException {
    try {
      for (Digest layer : topFirst) {
        this.topFirst.add(
            new Layer(RootedDirectory.open(layers.path(layer)), layers.implied(layer)));
      }
    } catch (IOException | RuntimeException e) {
      close();
      throw e;
    }
  }

  @Override
  public void close() {
    topFirst.forEach(layer -> layer.tree().close());
  }

  /**
   * Makes a layer to put on top: the directories, each as the topmost description has it. None is
   * made where none is needed, unless there is nothing else to stack.
   */
  void restore(Path directory) throws IOException {
    var wanted = new TreeSet<String>();
    for (Layer layer : topFirst) {
      wanted.addAll(layer.implied());
    }
    wanted.remove("");
    if (wanted.isEmpty() && !topFirst.isEmpty()) {
      return;
    }
    Files.createDirectory(directory);
    try (var target = RootedDirectory.open(directory)) {
      for (String path : wanted) {
        if (describedBelow(path)) {
          make(target, path);
        }
      }
      for (String path : wanted.descendingSet()) {
        copyTo(target, path); // again, for the times: making a child has changed them
      }
    }
  }

  /** The root is like the topmost layer that described it. */
  void copyRoot(OpenDirectory target) throws IOException {
    for (Layer layer : topFirst) {
      if (!layer.implied().contains("")) {
        Metadata.copy(layer.tree().root(), OpenDirectory.SELF, target, OpenDirectory.SELF);
        return;
      }
    }
  }

  private void make(RootedDirectory target, String path) throws IOException {
    for (int slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1)) {
      makeOne(target, path.substring(0, slash));
    }
    makeOne(target, path);
  }

  private void makeOne(RootedDirectory target, String path) throws IOException {
    OpenDirectory parent = target.directory(parent(path));
    if (parent.find(name(path)).isEmpty()) {
      parent.makeDirectory(name(path));
      parent.permissions(name(path), 0755);
      copyTo(target, path);
    }
  }

  private void copyTo(RootedDirectory target, String path) throws IOException {
    OpenDirectory parent;
    try {
      parent = target.directory(parent(path));
    } catch (dev.zlayer.host.linux.ErrnoException _) {
      return; // not among those that had to be made
    }
    Optional<Layer> source = source(path);
    if (source.isPresent() && parent.find(name(path)).isPresent()) {
      Metadata.copy(source.get().tree().directory(parent(path)), name(path), parent, name(path));
    }
  }

  /** Whether the topmost layer that has the directory implied it, and a lower one described it. */
  private boolean describedBelow(String path) throws IOException {
    boolean implied = false;
    for (Layer layer : topFirst) {
      switch (ask(layer, path)) {
        case DESCRIBED -> {
          return implied;
        }
        case IMPLIED -> implied = true;
        case NOTHING -> {}
        case HIDDEN -> {
          return false;
        }
      }
    }
    return false;
  }

  private Optional<Layer> source(String path) throws IOException {
    for (Layer layer : topFirst) {
      switch (ask(layer, path)) {
        case DESCRIBED -> {
          return Optional.of(layer);
        }
        case IMPLIED, NOTHING -> {}
        case HIDDEN -> {
          return Optional.empty();
        }
      }
    }
    return Optional.empty();
  }

  /** Walks down without following links, as overlayfs does. */
  private static Answer ask(Layer layer, String path) throws IOException {
    OpenDirectory at = layer.tree().root();
    List<OpenDirectory> entered = new ArrayList<>();
    try {
      boolean opaque = false;
      for (String name : path.split("/", -1)) {
        Optional<FileStat> found = at.find(name);
        if (found.isEmpty()) {
          return opaque ? Answer.HIDDEN : Answer.NOTHING;
        }
        if (found.get().kind() != FileKind.DIRECTORY) {
          return Answer.HIDDEN;
        }
        at = at.enter(name);
        entered.add(at);
        opaque |= Metadata.opaque(at);
      }
      if (!layer.implied().contains(path)) {
        return Answer.DESCRIBED;
      }
      return opaque ? Answer.HIDDEN : Answer.IMPLIED;
    } finally {
      entered.forEach(OpenDirectory::close);
    }
  }

  private static String parent(String path) {
    return path.substring(0, Math.max(0, path.lastIndexOf('/')));
  }

  private static String name(String path) {
    return path.substring(path.lastIndexOf('/') + 1);
  }
}
