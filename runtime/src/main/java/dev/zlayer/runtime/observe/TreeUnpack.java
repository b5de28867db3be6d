package dev.zlayer.runtime.observe;

import dev.zlayer.container.IdRange;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.ErrnoException;
import dev.zlayer.host.linux.FileKind;
import dev.zlayer.host.linux.FileStat;
import dev.zlayer.host.linux.FileTimes;
import dev.zlayer.host.linux.OpenDirectory;
import dev.zlayer.host.linux.OpenFile;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.tar.TarKind;
import dev.zlayer.tar.TarMember;
import dev.zlayer.tar.TarReader;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Makes the members of an archive below a directory of a container. Links in the container are
 * followed within its root, as its own processes would; a member named {@code ..} is refused, and a
 * directory is never replaced by something else.
 */
final class TreeUnpack {
  private final RootedDirectory root;
  private final String base;
  private final Optional<IdRange> ids;
  private final boolean describesBase;

  /** Set at the end: making an entry changes the time of its directory. */
  private final Map<String, FileTimes> directoryTimes = new LinkedHashMap<>();

  /** With owners as the archive has them; with {@code ids}, they are those of a container. */
  TreeUnpack(RootedDirectory root, String base, Optional<IdRange> ids) {
    this(root, base, ids, false);
  }

  private TreeUnpack(
      RootedDirectory root, String base, Optional<IdRange> ids, boolean describesBase) {
    this.root = root;
    this.base = base;
    this.ids = ids;
    this.describesBase = describesBase;
  }

  /** Gives the directory itself the owner, mode and attributes that the archive has for it. */
  static TreeUnpack whole(RootedDirectory root) {
    return new TreeUnpack(root, "", Optional.empty(), true);
  }

  void unpack(TarReader tar) throws IOException, InterruptedException {
    root.directory(base);
    Optional<TarMember> member = tar.next();
    while (member.isPresent()) {
      if (Thread.interrupted()) {
        throw new InterruptedException("copying was interrupted");
      }
      add(member.get(), tar);
      member = tar.next();
    }
    for (Map.Entry<String, FileTimes> entry : directoryTimes.entrySet()) {
      root.directory(entry.getKey()).times(OpenDirectory.SELF, entry.getValue());
    }
  }

  private void add(TarMember member, TarReader tar) throws IOException, InterruptedException {
    InnerPath path = place(member.name());
    if (path.whole().equals(base)) {
      if (describesBase && member.kind() == TarKind.DIRECTORY) {
        describe(member, root.directory(base), OpenDirectory.SELF);
        directoryTimes.put(base, times(member));
      }
      return; // else the directory itself stays as it is
    }
    directory(path.parent());
    switch (member.kind()) {
      case DIRECTORY -> {
        describe(member, directory(path.whole()), OpenDirectory.SELF);
        directoryTimes.put(path.whole(), times(member));
      }
      case FILE -> file(member, tar, cleared(path), path.name());
      case HARD_LINK -> hardLink(path, place(member.linkName()));
      case SYMLINK -> {
        OpenDirectory parent = cleared(path);
        parent.makeSymlink(path.name(), member.linkName());
        parent.owner(path.name(), outside(member.user()), outside(member.group()));
        parent.times(path.name(), times(member));
      }
      case FIFO -> node(member, FileKind.FIFO, path);
      case CHARACTER_DEVICE -> node(member, FileKind.CHARACTER_DEVICE, path);
      case BLOCK_DEVICE -> node(member, FileKind.BLOCK_DEVICE, path);
    }
  }

  private void hardLink(InnerPath path, InnerPath target) throws IOException {
    FileStat present = root.directory(target.parent()).stat(target.name());
    Optional<FileStat> there = root.directory(path.parent()).find(path.name());
    if (there.isPresent() && there.get().inode() == present.inode()) {
      return; // it is that very file already
    }
    OpenDirectory parent = cleared(path);
    parent.makeLink(path.name(), root.directory(target.parent()), target.name());
  }

  private void file(TarMember member, TarReader tar, OpenDirectory parent, String name)
      throws IOException, InterruptedException {
    try (OpenFile file = parent.createFile(name)) {
      tar.content(file::write);
      file.length(member.size());
      file.owner(outside(member.user()), outside(member.group()));
      file.permissions(member.permissions());
      for (Map.Entry<String, byte[]> attribute : member.attributes().entrySet()) {
        if (settable(attribute.getKey())) {
          file.attribute(attribute.getKey(), attribute.getValue());
        }
      }
      file.times(times(member));
    } catch (IOException | InterruptedException | RuntimeException e) {
      parent.remove(name); // half a file looks like a whole one
      throw e;
    }
  }

  private void node(TarMember member, FileKind kind, InnerPath path) throws IOException {
    OpenDirectory parent = cleared(path);
    String name = path.name();
    parent.makeNode(name, kind, 0600, (int) member.major(), (int) member.minor());
    describe(member, parent, name);
    parent.times(name, times(member));
  }

  private void describe(TarMember member, OpenDirectory parent, String name) throws IOException {
    parent.owner(name, outside(member.user()), outside(member.group()));
    parent.permissions(name, member.permissions());
    for (Map.Entry<String, byte[]> attribute : member.attributes().entrySet()) {
      if (settable(attribute.getKey())) {
        parent.attribute(name, attribute.getKey(), attribute.getValue());
      }
    }
  }

  private long outside(long id) {
    if (ids.isEmpty()) {
      return id;
    }
    if (!ids.get().has(id)) {
      throw new AgentException.InvalidSpec(
          "owner %d in the archive is not among the users of the container, which are 0 to %d"
              .formatted(id, IdRange.SIZE - 1));
    }
    return ids.get().outside(id);
  }

  /** An archive must not speak to overlayfs. */
  private static boolean settable(String attribute) {
    return !attribute.startsWith("trusted.overlay.") && !attribute.startsWith("user.overlay.");
  }

  /** The directory at a path, made with its parents where there is none. */
  private OpenDirectory directory(String path) throws IOException {
    Deque<String> missing = new ArrayDeque<>();
    for (String at = path; !there(at); at = split(at).parent()) {
      missing.push(at);
    }
    for (String way : missing) {
      InnerPath split = split(way);
      OpenDirectory parent = root.directory(split.parent());
      if (parent.find(split.name()).isEmpty()) {
        parent.makeDirectory(split.name());
        if (ids.isPresent()) {
          parent.owner(split.name(), outside(0), outside(0));
        }
        parent.permissions(split.name(), 0755);
      }
    }
    return root.directory(path);
  }

  private boolean there(String path) throws IOException {
    try {
      root.directory(path);
      return true;
    } catch (ErrnoException e) {
      if (e.errno() != ErrnoException.ENOENT || path.isEmpty()) {
        throw e;
      }
      return false;
    }
  }

  /** The directory of a new entry, in which nothing has its name any more. */
  private OpenDirectory cleared(InnerPath path) throws IOException {
    OpenDirectory parent = root.directory(path.parent());
    Optional<FileStat> present = parent.find(path.name());
    if (present.isEmpty()) {
      return parent;
    }
    if (present.get().kind() == FileKind.DIRECTORY) {
      throw new AgentException.InvalidSpec(
          "'/%s' is a directory in the container and no directory in the archive: remove it first"
              .formatted(InnerPath.readable(path.whole())));
    }
    parent.remove(path.name());
    root.forget(); // paths that led through it lead elsewhere now
    return root.directory(path.parent());
  }

  private InnerPath place(String name) {
    var path = new StringBuilder(base);
    for (String component : name.split("/", -1)) {
      if (component.equals("..")) {
        throw new AgentException.InvalidSpec(
            "the archive has a member '%s', which would leave the directory"
                .formatted(InnerPath.readable(name)));
      }
      if (!component.isEmpty() && !component.equals(".")) {
        path.append(path.isEmpty() ? "" : "/").append(component);
      }
    }
    return split(path.toString());
  }

  private static InnerPath split(String path) {
    int slash = path.lastIndexOf('/');
    return new InnerPath(slash < 0 ? "" : path.substring(0, slash), path.substring(slash + 1));
  }

  private static FileTimes times(TarMember member) {
    return FileTimes.modified(member.modified().seconds(), member.modified().nanos());
  }
}
