package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Makes the places of a root file system that are mounted on before it is entered. Its links are
 * the work of whoever made the image: they are read here, one component after the other and always
 * inside the root, so that whoever mounts finds real directories and files only. Owned by one
 * thread.
 */
public final class MountTargets implements AutoCloseable {
  private static final int MAX_LINKS = 40;
  private static final int DIRECTORY_PERMISSIONS = 0755;
  private static final int FILE_PERMISSIONS = 0644;

  private final RootedDirectory root;
  private final long owner;

  private MountTargets(RootedDirectory root, long owner) {
    this.root = root;
    this.owner = owner;
  }

  /** What is made belongs to that user and group. */
  public static MountTargets open(Path root, long owner) throws ErrnoException {
    return new MountTargets(RootedDirectory.open(root), owner);
  }

  /** What has to be at a target. */
  public enum Kind {
    DIRECTORY,
    /** Anything that a file can be mounted on. */
    FILE
  }

  /**
   * Makes the target unless it exists, with the directories above it.
   *
   * @param covered paths that something else is mounted on: what is below them is not in this root
   * @return the target without links
   * @throws IOException it is of the other kind, or its links do not end
   */
  public String make(String target, Kind kind, Set<String> covered) throws IOException {
    return walk(target, kind, false, covered, DIRECTORY_PERMISSIONS);
  }

  /** Like {@link #make} for a directory, which has those permissions if it did not exist. */
  public String makeDirectory(String target, int permissions, Set<String> covered)
      throws IOException {
    return walk(target, Kind.DIRECTORY, false, covered, permissions);
  }

  /** Like {@link #make}; what is there and is not a directory or plain file is replaced. */
  public String makeReal(String target, Kind kind, Set<String> covered) throws IOException {
    return walk(target, kind, true, covered, DIRECTORY_PERMISSIONS);
  }

  /**
   * Makes the directories above a target, and removes what is there unless it is a directory.
   *
   * @return the target without links
   */
  public String vacate(String target, Set<String> covered) throws IOException {
    int slash = target.lastIndexOf('/');
    String above = make(target.substring(0, slash + 1), Kind.DIRECTORY, covered);
    String vacant = (above.equals("/") ? "" : above) + target.substring(slash);
    if (covered.stream().noneMatch(path -> (above + "/").startsWith(path + "/"))) {
      OpenDirectory parent = root.directory(raw(above).substring(1));
      String name = raw(target.substring(slash + 1));
      Optional<FileStat> found = parent.find(name);
      if (found.isPresent() && found.get().kind() != FileKind.DIRECTORY) {
        parent.remove(name);
      }
    }
    return vacant;
  }

  private String walk(String target, Kind kind, boolean real, Set<String> covered, int permissions)
      throws IOException {
    Deque<String> left = new ArrayDeque<>(components(raw(target)));
    List<String> reached = new ArrayList<>();
    int links = 0;
    while (!left.isEmpty()) {
      String here = text(reached);
      if (covered.contains(here) && !left.contains("..")) {
        left.forEach(reached::add);
        return text(reached);
      }
      String name = left.removeFirst();
      if (name.equals("..")) {
        if (!reached.isEmpty()) {
          reached.removeLast();
        }
        continue;
      }
      boolean last = left.isEmpty();
      OpenDirectory parent = root.directory(String.join("/", reached));
      Optional<FileStat> found = parent.find(name);
      if (found.isPresent() && found.get().kind() == FileKind.SYMLINK && !(last && real)) {
        if (++links > MAX_LINKS) {
          throw new IOException("too many symbolic links");
        }
        String link = parent.readSymlink(name);
        if (link.startsWith("/")) {
          reached.clear();
        }
        components(link).reversed().forEach(left::addFirst);
        continue;
      }
      settle(parent, name, found, last ? kind : Kind.DIRECTORY, last && real);
      if (last && found.isEmpty() && kind == Kind.DIRECTORY) {
        parent.permissions(name, permissions);
      }
      reached.add(name);
    }
    return text(reached);
  }

  private void settle(
      OpenDirectory parent, String name, Optional<FileStat> found, Kind kind, boolean real)
      throws IOException {
    if (found.isPresent()) {
      boolean directory = found.get().kind() == FileKind.DIRECTORY;
      boolean plain = directory || found.get().kind() == FileKind.FILE;
      if (directory == (kind == Kind.DIRECTORY) && (plain || !real)) {
        return;
      }
      if (!real || directory) {
        throw new IOException(
            KernelCalls.readable(name) + (directory ? " is a directory" : " is not a directory"));
      }
      parent.remove(name);
    }
    if (kind == Kind.DIRECTORY) {
      parent.makeDirectory(name);
      own(parent, name);
      parent.permissions(name, DIRECTORY_PERMISSIONS);
    } else {
      parent.createFile(name).close();
      own(parent, name);
      parent.permissions(name, FILE_PERMISSIONS);
    }
  }

  /** Whoever makes it is root already. */
  private void own(OpenDirectory parent, String name) throws ErrnoException {
    if (owner != 0) {
      parent.owner(name, owner, owner);
    }
  }

  private static String raw(String text) {
    return new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
  }

  private static List<String> components(String raw) {
    List<String> components = new ArrayList<>();
    for (String name : raw.split("/", -1)) {
      if (!name.isEmpty() && !name.equals(".")) {
        components.add(name);
      }
    }
    return components;
  }

  private static String text(List<String> raw) throws IOException {
    byte[] bytes = ("/" + String.join("/", raw)).getBytes(StandardCharsets.ISO_8859_1);
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw new IOException("a symbolic link has a target that is not UTF-8", e);
    }
  }

  @Override
  public void close() {
    root.close();
  }
}
