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
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * Finds out what directories are like that a layer only implied. A layer with {@code tmp/file} but
 * no entry {@code tmp} must not change what a lower layer said about {@code tmp}; unpacked alone it
 * had to make one up, and overlayfs shows the topmost.
 */
final class DescribedDirectories implements AutoCloseable {
  /** So many answers are kept; asking again costs time, not correctness. */
  private static final int MOST_KEPT = 100_000;

  /** Every layer keeps directories open, and there may be hundreds of layers. */
  private static final int MOST_OPEN = 256;

  private record Layer(RootedDirectory tree, Set<String> implied, Map<String, Place> places) {}

  /** What a layer has at a path; {@code opaque} when it or a directory above it is. */
  private record Place(boolean directory, boolean blocked, boolean opaque) {
    static final Place ROOT = new Place(true, false, false);
  }

  /** What one layer says about a path. */
  private enum Answer {
    DESCRIBED,
    IMPLIED,
    NOTHING,
    /** Nor may any lower layer be asked. */
    HIDDEN
  }

  private final List<Layer> topFirst = new ArrayList<>();
  private int entered;

  DescribedDirectories(LayerStore layers, List<Digest> topFirst) throws IOException {
    try {
      for (Digest layer : topFirst) {
        this.topFirst.add(
            new Layer(
                RootedDirectory.open(layers.path(layer)), layers.implied(layer), new HashMap<>()));
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
    var made = new HashSet<String>(Set.of(""));
    try (var target = RootedDirectory.open(directory)) {
      for (String path : wanted) {
        if (describedBelow(path)) {
          make(target, path, made);
        }
      }
      for (String path : wanted) {
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

  /** With its parents; a path can have thousands of them, so none is made or asked for twice. */
  private void make(RootedDirectory target, String path, Set<String> made) throws IOException {
    Deque<String> missing = new ArrayDeque<>();
    for (String at = path; made.add(at); at = parent(at)) {
      missing.push(at);
    }
    for (String at : missing) {
      makeOne(target, at);
    }
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

  private Answer ask(Layer layer, String path) throws IOException {
    Place place = place(layer, path);
    if (!place.directory()) {
      return place.blocked() || place.opaque() ? Answer.HIDDEN : Answer.NOTHING;
    }
    if (!layer.implied().contains(path)) {
      return Answer.DESCRIBED;
    }
    return place.opaque() ? Answer.HIDDEN : Answer.IMPLIED;
  }

  /** Walks down without following links, as overlayfs does, from the last path that is known. */
  private Place place(Layer layer, String path) throws IOException {
    Deque<String> unknown = new ArrayDeque<>();
    Place place = Place.ROOT;
    for (String at = path; !at.isEmpty(); at = parent(at)) {
      Place known = layer.places().get(at);
      if (known != null) {
        place = known;
        break;
      }
      unknown.push(at);
    }
    if (layer.places().size() > MOST_KEPT) {
      layer.places().clear();
    }
    for (String at : unknown) {
      place = below(layer, place, at);
      layer.places().put(at, place);
    }
    return place;
  }

  /** All directories above are known to be real ones, so that the kernel follows no link. */
  private Place below(Layer layer, Place above, String path) throws IOException {
    if (!above.directory()) {
      return above;
    }
    if (++entered > MOST_OPEN) {
      entered = 0;
      topFirst.forEach(each -> each.tree().forget());
    }
    Optional<FileStat> found = layer.tree().directory(parent(path)).find(name(path));
    if (found.isEmpty()) {
      return new Place(false, false, above.opaque());
    }
    if (found.get().kind() != FileKind.DIRECTORY) {
      return new Place(false, true, above.opaque());
    }
    boolean opaque = above.opaque() || Metadata.opaque(layer.tree().directory(path));
    return new Place(true, false, opaque);
  }

  private static String parent(String path) {
    return path.substring(0, Math.max(0, path.lastIndexOf('/')));
  }

  private static String name(String path) {
    return path.substring(path.lastIndexOf('/') + 1);
  }
}
