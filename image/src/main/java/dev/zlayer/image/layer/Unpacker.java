package dev.zlayer.image.layer;

import dev.zlayer.host.linux.ErrnoException;
import dev.zlayer.host.linux.FileKind;
import dev.zlayer.host.linux.FileTimes;
import dev.zlayer.host.linux.OpenDirectory;
import dev.zlayer.host.linux.OpenFile;
import dev.zlayer.host.linux.UserNamespaces;
import dev.zlayer.tar.TarException;
import dev.zlayer.tar.TarKind;
import dev.zlayer.tar.TarMember;
import dev.zlayer.tar.TarReader;
import java.io.IOException;
import java.util.Map;

/**
 * Makes the entries of an archive in a tree, exactly as the archive says, or throws naming the
 * entry. Owned by one thread.
 */
final class Unpacker {
  private static final String WHITEOUT = ".wh.";
  private static final String WHITEOUT_META = ".wh..wh.";
  private static final String WHITEOUT_OPAQUE = ".wh..wh..opq";
  private static final long MAX_ID = 0xFFFF_FFFEL; // one more means "leave as it is" to the kernel
  private static final int MAX_MAJOR = 0xFFF;
  private static final int MAX_MINOR = 0xFFFFF;

  private final LayerTree tree;
  private final LayerLimits limits;
  private final PathJournal directoryTimes;
  private long entries;
  private long inodes = 1;
  private long bytes;
  private boolean rootDescribed;

  Unpacker(LayerTree tree, LayerLimits limits, PathJournal directoryTimes) {
    this.tree = tree;
    this.limits = limits;
    this.directoryTimes = directoryTimes;
  }

  /** Unpacks everything up to the end of the archive. */
  LayerUsage unpack(TarReader archive) throws IOException, InterruptedException {
    for (var member = archive.next(); member.isPresent(); member = archive.next()) {
      if (Thread.interrupted()) {
        throw new InterruptedException("unpacking was interrupted");
      }
      entry(member.get(), archive);
    }
    directoryTimes.replay(this::setDirectoryTimes);
    return new LayerUsage(bytes, inodes + tree.impliedMade());
  }

  /** Whether an entry told what the root is like. */
  boolean rootDescribed() {
    return rootDescribed;
  }

  private void entry(TarMember member, TarReader archive) throws IOException, InterruptedException {
    if (++entries > limits.entries()) {
      throw new LayerException(
          member.name(), "the layer has more than %d entries".formatted(limits.entries()), null);
    }
    check(member);
    try {
      tree.begin();
      place(member, EntryPath.parse(member.name(), member.name(), limits), archive);
    } catch (ErrnoException e) {
      throw new LayerException(member.name(), String.valueOf(e.getMessage()), e);
    }
  }

  private void check(TarMember member) throws LayerException {
    if (member.user() < 0
        || member.user() > MAX_ID
        || member.group() < 0
        || member.group() > MAX_ID) {
      throw refused(member, "owner %d:%d is impossible".formatted(member.user(), member.group()));
    }
    if (member.size() > limits.bytes() - bytes) {
      throw refused(member, "the layer has more than %d bytes".formatted(limits.bytes()));
    }
    if (member.attributes().size() > limits.attributes()) {
      throw refused(member, "more than %d attributes".formatted(limits.attributes()));
    }
  }

  private void place(TarMember member, EntryPath path, TarReader archive)
      throws IOException, InterruptedException {
    if (path.root()) {
      if (member.kind() != TarKind.DIRECTORY) {
        throw refused(member, "only a directory can be the root");
      }
      directory(member, tree.root().root(), OpenDirectory.SELF, "");
      rootDescribed = true;
    } else if (auxiliary(path)) {
      return;
    } else if (path.name().equals(WHITEOUT_OPAQUE)) {
      tree.directory(path.parent()).attribute(OpenDirectory.SELF, LayerTree.OPAQUE, LayerTree.YES);
    } else if (path.name().startsWith(WHITEOUT)) {
      whiteout(member, path);
    } else {
      make(member, path, tree.directory(path.parent()), archive);
    }
  }

  /** What aufs keeps for itself in a layer is not content. */
  private static boolean auxiliary(EntryPath path) {
    boolean below =
        path.parent().startsWith(WHITEOUT_META) || path.parent().contains("/" + WHITEOUT_META);
    return below || (path.name().startsWith(WHITEOUT_META) && !path.name().equals(WHITEOUT_OPAQUE));
  }

  private void whiteout(TarMember member, EntryPath path) throws IOException {
    String hidden = path.name().substring(WHITEOUT.length());
    if (hidden.isEmpty() || hidden.equals(".") || hidden.equals("..")) {
      throw refused(member, "a whiteout must name what it hides");
    }
    tree.whiteOut(tree.directory(path.parent()), hidden);
    inodes++;
  }

  private void make(TarMember member, EntryPath path, OpenDirectory parent, TarReader archive)
      throws IOException, InterruptedException {
    String name = path.name();
    switch (member.kind()) {
      case FILE -> file(member, parent, name, archive);
      case DIRECTORY -> {
        inodes += tree.makeDirectory(parent, name) ? 1 : 0;
        directory(member, parent, name, path.path());
      }
      case HARD_LINK -> hardLink(member, parent, name);
      case SYMLINK -> {
        symlink(member, parent, name);
        parent.owner(name, member.user(), member.group());
        finish(member, parent, name);
      }
      case CHARACTER_DEVICE -> device(member, FileKind.CHARACTER_DEVICE, parent, name);
      case BLOCK_DEVICE -> device(member, FileKind.BLOCK_DEVICE, parent, name);
      case FIFO -> node(member, FileKind.FIFO, parent, name);
    }
  }

  private void file(TarMember member, OpenDirectory parent, String name, TarReader archive)
      throws IOException, InterruptedException {
    try (OpenFile file = tree.replacing(parent, name, () -> parent.createFile(name))) {
      var written = new long[1];
      archive.content(
          (offset, data, from, length) -> {
            file.write(offset, data, from, length);
            written[0] = offset + length;
            if (Thread.interrupted()) {
              throw new InterruptedException("unpacking was interrupted");
            }
          });
      if (written[0] < member.size()) {
        file.length(member.size()); // ends in a hole
      }
      file.owner(member.user(), member.group());
      file.permissions(member.permissions());
      for (Map.Entry<String, byte[]> attribute : member.attributes().entrySet()) {
        attribute(
            attribute.getKey(), () -> file.attribute(attribute.getKey(), attribute.getValue()));
      }
      file.times(times(member));
    }
    inodes++;
    bytes += member.size();
  }

  private void directory(TarMember member, OpenDirectory parent, String name, String path)
      throws IOException {
    parent.owner(name, member.user(), member.group());
    parent.permissions(name, member.permissions());
    attributes(member, parent, name);
    directoryTimes.add(path, times(member));
  }

  private void hardLink(TarMember member, OpenDirectory parent, String name) throws IOException {
    EntryPath target = EntryPath.parse(member.name(), member.linkName(), limits);
    if (target.root()) {
      throw refused(member, "a directory can have no hard link");
    }
    OpenDirectory holder = tree.root().directory(target.parent());
    var present =
        holder
            .find(target.name())
            .orElseThrow(
                () ->
                    refused(
                        member,
                        "hard link to '%s', which is not in this layer"
                            .formatted(TarException.readable(member.linkName()))));
    if (present.kind() == FileKind.DIRECTORY) {
      throw refused(member, "a directory can have no hard link");
    }
    if (parent.find(name).filter(old -> old.inode() == present.inode()).isPresent()) {
      return; // it is that very file already
    }
    tree.replacing(
        parent,
        name,
        () -> {
          parent.makeLink(name, holder, target.name());
          return true;
        });
  }

  private void symlink(TarMember member, OpenDirectory parent, String name) throws IOException {
    if (member.linkName().isEmpty()) {
      throw refused(member, "a symbolic link needs a target");
    }
    tree.replacing(
        parent,
        name,
        () -> {
          parent.makeSymlink(name, member.linkName());
          return true;
        });
    inodes++;
  }

  private void device(TarMember member, FileKind kind, OpenDirectory parent, String name)
      throws IOException {
    boolean possible =
        member.major() >= 0
            && member.major() <= MAX_MAJOR
            && member.minor() >= 0
            && member.minor() <= MAX_MINOR;
    if (!possible) {
      throw refused(member, "device %d/%d is impossible".formatted(member.major(), member.minor()));
    }
    if (UserNamespaces.inside()) {
      return; // nobody but the host's root makes devices; containers get theirs from the runtime
    }
    node(member, kind, parent, name);
  }

  private void node(TarMember member, FileKind kind, OpenDirectory parent, String name)
      throws IOException {
    int major = kind == FileKind.FIFO ? 0 : (int) member.major();
    int minor = kind == FileKind.FIFO ? 0 : (int) member.minor();
    tree.replacing(
        parent,
        name,
        () -> {
          parent.makeNode(name, kind, 0600, major, minor);
          return true;
        });
    parent.owner(name, member.user(), member.group());
    parent.permissions(name, member.permissions());
    finish(member, parent, name);
    inodes++;
  }

  private static void finish(TarMember member, OpenDirectory parent, String name)
      throws IOException {
    attributes(member, parent, name);
    parent.times(name, times(member));
  }

  private static void attributes(TarMember member, OpenDirectory parent, String name)
      throws IOException {
    for (Map.Entry<String, byte[]> attribute : member.attributes().entrySet()) {
      attribute(
          attribute.getKey(),
          () -> parent.attribute(name, attribute.getKey(), attribute.getValue()));
    }
  }

  /** Sets an attribute, which may fail. */
  @FunctionalInterface
  private interface Setting {
    void set() throws ErrnoException;
  }

  /**
   * An archive must not speak to overlayfs: its attributes could graft in parts of other layers. An
   * attribute the file system does not know is left out, except capabilities, which programs need.
   */
  private static void attribute(String attribute, Setting setting) throws ErrnoException {
    if (attribute.startsWith("trusted.overlay.") || attribute.startsWith("user.overlay.")) {
      return;
    }
    try {
      setting.set();
    } catch (ErrnoException e) {
      if (e.errno() != ErrnoException.EOPNOTSUPP || attribute.equals("security.capability")) {
        throw e;
      }
    }
  }

  private void setDirectoryTimes(String path, FileTimes times) throws IOException {
    try {
      tree.begin();
      tree.root().directory(path).times(OpenDirectory.SELF, times);
    } catch (ErrnoException e) {
      // a later entry took its place
      if (e.errno() != ErrnoException.ENOENT && e.errno() != ErrnoException.ENOTDIR) {
        throw new LayerException(path, String.valueOf(e.getMessage()), e);
      }
    }
  }

  private static FileTimes times(TarMember member) {
    return new FileTimes(
        member.accessed().seconds(),
        member.accessed().nanos(),
        member.modified().seconds(),
        member.modified().nanos());
  }

  private static LayerException refused(TarMember member, String reason) {
    return new LayerException(member.name(), reason, null);
  }
}
