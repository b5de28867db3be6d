package dev.zlayer.image.layer;

import dev.zlayer.host.linux.ErrnoException;
import dev.zlayer.host.linux.FileKind;
import dev.zlayer.host.linux.FileStat;
import dev.zlayer.host.linux.OpenDirectory;
import dev.zlayer.host.linux.OverlayMount;
import dev.zlayer.host.linux.RootedDirectory;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * The tree of one layer while it grows: parents that the archive did not list, and entries that
 * take the place of earlier ones. Owned by one thread.
 */
final class LayerTree {
  /** Overlayfs shows nothing of lower layers in a directory marked so. */
  static final String OPAQUE = OverlayMount.ATTRIBUTES + "opaque";

  static final byte[] YES = "y".getBytes(StandardCharsets.US_ASCII);
  private static final int IMPLIED_PERMISSIONS = 0755;

  /** Learns of directories that were made although no entry told what they are like. */
  @FunctionalInterface
  interface Implied {
    void made(String path) throws IOException;
  }

  private final RootedDirectory root;
  private final Implied implied;
  private boolean stale;
  private long impliedMade;

  LayerTree(RootedDirectory root, Implied implied) {
    this.root = root;
    this.implied = implied;
  }

  RootedDirectory root() {
    return root;
  }

  /** How many directories no entry described when they were made. */
  long impliedMade() {
    return impliedMade;
  }

  /** Directories asked for from here on are valid until the next call. */
  void begin() {
    if (stale) {
      stale = false;
      root.forget();
    }
  }

  /** The directory at that path, made with its parents when it is not there. */
  OpenDirectory directory(String path) throws IOException {
    Deque<String> missing = new ArrayDeque<>();
    for (String at = path; !there(at); at = EntryPath.ofClean(at).parent()) {
      missing.push(at);
    }
    for (String way : missing) {
      implied(way);
    }
    return root.directory(path);
  }

  private boolean there(String path) throws IOException {
    try {
      root.directory(path);
      return true;
    } catch (ErrnoException e) {
      boolean absent = e.errno() == ErrnoException.ENOENT || e.errno() == ErrnoException.ENOTDIR;
      if (!absent || path.isEmpty()) {
        throw e;
      }
      return false;
    }
  }

  private void implied(String path) throws IOException {
    EntryPath split = EntryPath.ofClean(path);
    OpenDirectory parent = root.directory(split.parent());
    if (parent.find(split.name()).map(FileStat::whiteout).orElse(true)) {
      makeDirectory(parent, split.name());
      parent.permissions(split.name(), IMPLIED_PERMISSIONS);
      implied.made(path);
      impliedMade++;
    }
  }

  /**
   * Makes a directory, or keeps the one that is there. One that takes the place of something else
   * hides what lower layers have: whatever was there before it had hidden that already.
   *
   * @return whether it is new
   */
  boolean makeDirectory(OpenDirectory parent, String name) throws IOException {
    try {
      parent.makeDirectory(name);
      return true;
    } catch (ErrnoException e) {
      if (e.errno() != ErrnoException.EEXIST) {
        throw e;
      }
    }
    if (parent.stat(name).kind() == FileKind.DIRECTORY) {
      return false;
    }
    remove(parent, name);
    parent.makeDirectory(name);
    parent.attribute(name, OPAQUE, YES);
    return true;
  }

  /** Makes something that is no directory. */
  @FunctionalInterface
  interface Making<T> {
    T make() throws IOException;
  }

  /** Makes an entry in the place of whatever has its name. */
  <T> T replacing(OpenDirectory parent, String name, Making<T> making) throws IOException {
    try {
      return making.make();
    } catch (ErrnoException e) {
      if (e.errno() != ErrnoException.EEXIST) {
        throw e;
      }
    }
    remove(parent, name);
    return making.make();
  }

  /** Says that lower layers have nothing called so any more; what this layer has stays. */
  void whiteOut(OpenDirectory parent, String name) throws IOException {
    FileStat present = parent.find(name).orElse(null);
    if (present == null) {
      parent.makeNode(name, FileKind.CHARACTER_DEVICE, 0, 0, 0);
    } else if (present.kind() == FileKind.DIRECTORY) {
      parent.attribute(name, OPAQUE, YES);
    }
  }

  private void remove(OpenDirectory parent, String name) throws IOException {
    parent.remove(name);
    // a path that led through what is gone may lead elsewhere; directories in use stay open
    stale = true;
  }
}
