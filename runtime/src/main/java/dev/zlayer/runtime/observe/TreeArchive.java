package dev.zlayer.runtime.observe;

import dev.zlayer.container.IdRange;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.ErrnoException;
import dev.zlayer.host.linux.FileKind;
import dev.zlayer.host.linux.FileStat;
import dev.zlayer.host.linux.OpenDirectory;
import dev.zlayer.host.linux.OpenFile;
import dev.zlayer.host.linux.OverlayMount;
import dev.zlayer.host.linux.TreeWalk;
import dev.zlayer.tar.TarKind;
import dev.zlayer.tar.TarMember;
import dev.zlayer.tar.TarRange;
import dev.zlayer.tar.TarWriter;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Writes an entry and all below it to an archive. Every directory is entered by its descriptor and
 * every file is described by what was opened, so nothing that is swapped meanwhile leads out. Holes
 * stay holes. Sockets and what the kernel shows in /proc and the like are left out, as are files
 * that vanish.
 */
final class TreeArchive {
  private static final int BUFFER = 128 << 10;

  /** More parts between holes than any honest file has; what follows is copied with its holes. */
  private static final int MAX_PARTS = 100_000;

  /**
   * What may be remembered of files with several names, each as long as it is and a little more.
   */
  private static final long MAX_LINK_BYTES = 32L << 20;

  private static final int LINK_OVERHEAD = 128;

  private static final String WHITEOUT = ".wh.";
  private static final String OPAQUE = ".wh..wh..opq";

  private record Inode(long device, long number) {}

  /** What the files are: a tree as it is, or what overlayfs keeps of changes, as a layer. */
  enum Form {
    FILES,
    LAYER
  }

  private final TarWriter tar;
  private final Optional<IdRange> ids;
  private final Form form;

  /** The first name of every inode with several. */
  private final Map<Inode, String> links = new HashMap<>();

  private long linkBytes;
  private final byte[] buffer = new byte[BUFFER];

  /** With owners as they are on the host, or, with {@code ids}, as the container calls them. */
  TreeArchive(TarWriter tar, Optional<IdRange> ids) {
    this(tar, ids, Form.FILES);
  }

  TreeArchive(TarWriter tar, Optional<IdRange> ids, Form form) {
    this.tar = tar;
    this.ids = ids;
    this.form = form;
  }

  /** Adds a directory that is open already, and what is in it. */
  void addContent(OpenDirectory directory, String as) throws IOException, InterruptedException {
    begin(directory, OpenDirectory.SELF, directory.stat(OpenDirectory.SELF), as + "/", "");
    hidden(directory, as.isEmpty() ? "" : as + "/");
    if (!directory.kernelFileSystem()) {
      below(directory, as.isEmpty() ? "" : as + "/");
    }
  }

  /** Adds an entry of a directory under another name. */
  void add(OpenDirectory parent, String name, String as) throws IOException, InterruptedException {
    FileStat stat = parent.stat(name);
    if (stat.kind() != FileKind.DIRECTORY) {
      entry(parent, name, stat, as);
      return;
    }
    OpenDirectory directory = parent.enter(name);
    try {
      addContent(directory, as);
    } finally {
      directory.close();
    }
  }

  private void below(OpenDirectory directory, String prefix)
      throws IOException, InterruptedException {
    TreeWalk.below(
        directory,
        new TreeWalk.Visitor() {
          @Override
          public void entry(OpenDirectory parent, TreeWalk.Place at)
              throws IOException, InterruptedException {
            TreeArchive.this.entry(parent, at.name(), at.stat(), prefix + at.path());
          }

          @Override
          public boolean enter(OpenDirectory entered, TreeWalk.Place at) throws IOException {
            begin(entered, OpenDirectory.SELF, at.stat(), prefix + at.path() + "/", "");
            hidden(entered, prefix + at.path() + "/");
            return !entered.kernelFileSystem();
          }
        });
  }

  private void entry(OpenDirectory parent, String name, FileStat stat, String as)
      throws IOException, InterruptedException {
    if (form == Form.LAYER && stat.whiteout()) {
      int last = as.lastIndexOf('/') + 1;
      mark(as.substring(0, last) + WHITEOUT + as.substring(last), stat);
      return;
    }
    try {
      switch (stat.kind()) {
        case FILE -> file(parent, name, as);
        case SYMLINK -> begin(parent, name, stat, as, parent.readSymlink(name));
        case FIFO, CHARACTER_DEVICE, BLOCK_DEVICE -> begin(parent, name, stat, as, "");
        case SOCKET -> {} // an archive cannot hold it
        case DIRECTORY -> throw new IllegalArgumentException("directories are walked");
      }
    } catch (ErrnoException e) {
      if (!TreeWalk.vanished(e)) {
        throw e;
      }
    }
  }

  /** A layer says by a file of its own that a directory hides what layers below have in it. */
  private void hidden(OpenDirectory directory, String as) throws IOException {
    if (form == Form.LAYER && OverlayChanges.opaque(directory)) {
      mark(as + OPAQUE, directory.stat(OpenDirectory.SELF));
    }
  }

  private void mark(String name, FileStat stat) throws IOException {
    var modified = new TarMember.TarTime(stat.modifiedSeconds(), stat.modifiedNanos());
    tar.begin(
        new TarMember(TarKind.FILE, name, "", 0, 0, 0, 0, modified, modified, 0, 0, Map.of()));
  }

  private void file(OpenDirectory parent, String name, String as)
      throws IOException, InterruptedException {
    try (OpenFile file = parent.openFile(name)) {
      FileStat stat = file.stat();
      String first = stat.links() > 1 ? first(stat, as) : as;
      if (!first.equals(as)) {
        tar.begin(member(TarKind.HARD_LINK, stat, as, first, Map.of()));
        return;
      }
      List<TarRange> parts =
          file.data(stat.size(), MAX_PARTS).stream()
              .map(part -> new TarRange(part.offset(), part.length()))
              .toList();
      tar.begin(member(TarKind.FILE, stat, as, "", file.attributes()), parts);
      for (TarRange part : parts) {
        content(file, part.offset(), part.offset() + part.length());
      }
    }
  }

  /** The name under which a file with several is in the archive; containers make any number. */
  private String first(FileStat stat, String as) {
    var inode = new Inode(stat.device(), stat.inode());
    String known = links.putIfAbsent(inode, as);
    if (known != null) {
      return known;
    }
    linkBytes += as.length() + LINK_OVERHEAD;
    if (linkBytes > MAX_LINK_BYTES) {
      throw new AgentException.Unsupported(
          "files: %d and more with several names (hard links) are too many for one archive; copy fewer at once"
              .formatted(links.size()));
    }
    return as;
  }

  /** As much as the header says, whatever the file does meanwhile. */
  private void content(OpenFile file, long from, long end)
      throws IOException, InterruptedException {
    for (long at = from; at < end; ) {
      if (Thread.interrupted()) {
        throw new InterruptedException("copying was interrupted");
      }
      int got = file.read(at, buffer);
      if (got == 0) {
        Arrays.fill(buffer, (byte) 0);
        got = buffer.length;
      }
      int part = (int) Math.min(got, end - at);
      tar.content(buffer, 0, part);
      at += part;
    }
  }

  private void begin(OpenDirectory parent, String name, FileStat stat, String as, String target)
      throws IOException {
    TarKind kind =
        switch (stat.kind()) {
          case DIRECTORY -> TarKind.DIRECTORY;
          case SYMLINK -> TarKind.SYMLINK;
          case FIFO -> TarKind.FIFO;
          case CHARACTER_DEVICE -> TarKind.CHARACTER_DEVICE;
          case BLOCK_DEVICE -> TarKind.BLOCK_DEVICE;
          case FILE, SOCKET -> throw new IllegalArgumentException("not written here");
        };
    Map<String, byte[]> attributes =
        stat.kind() == FileKind.SYMLINK ? Map.of() : parent.attributes(name);
    tar.begin(member(kind, stat, as.equals("/") ? "./" : as, target, attributes));
  }

  private TarMember member(
      TarKind kind, FileStat stat, String name, String target, Map<String, byte[]> attributes) {
    var modified = new TarMember.TarTime(stat.modifiedSeconds(), stat.modifiedNanos());
    var kept = new HashMap<>(attributes);
    kept.keySet().removeIf(key -> key.startsWith(OverlayMount.ATTRIBUTES));
    return new TarMember(
        kind,
        name,
        target,
        stat.permissions(),
        inside(stat.user()),
        inside(stat.group()),
        stat.size(),
        modified,
        modified,
        stat.major(),
        stat.minor(),
        kept);
  }

  private long inside(long id) {
    return ids.map(range -> range.inside(id)).orElse(id);
  }
}
