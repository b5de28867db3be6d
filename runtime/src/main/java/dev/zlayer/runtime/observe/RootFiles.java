package dev.zlayer.runtime.observe;

import dev.zlayer.container.IdRange;
import dev.zlayer.container.PathStat;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.ContainerRoot;
import dev.zlayer.host.linux.ErrnoException;
import dev.zlayer.host.linux.FileKind;
import dev.zlayer.host.linux.FileStat;
import dev.zlayer.host.linux.OpenDirectory;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.tar.TarException;
import dev.zlayer.tar.TarReader;
import dev.zlayer.tar.TarWriter;
import dev.zlayer.task.BlockingPool;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.zip.ZipException;

/**
 * The files of a container as it sees them itself. The kernel resolves every path within the
 * container's root, so no link leads out, however it is swapped meanwhile. Holds nothing open
 * between calls and may be used by any thread.
 */
public final class RootFiles {
  /**
   * Something that is mounted while the container runs: a directory or a file of the host.
   *
   * @param destination the path inside, such as {@code /data}
   * @param readOnly the container cannot write to it, nor may anybody through the container
   */
  public record Bind(String destination, Path source, boolean readOnly) {}

  /** The container has exited before anything was read or written. */
  public static final class Ended extends RuntimeException {
    private static final long serialVersionUID = 1;

    Ended(ErrnoException cause) {
      super(cause);
    }
  }

  private final Path root;
  private final boolean ofProcess;
  private final boolean readOnly;
  private final List<Bind> binds;
  private final Optional<IdRange> ids;

  private RootFiles(
      Path root, boolean ofProcess, boolean readOnly, List<Bind> binds, Optional<IdRange> ids) {
    this.root = root;
    this.ofProcess = ofProcess;
    this.readOnly = readOnly;
    this.ids = ids;
    this.binds =
        binds.stream()
            .sorted(Comparator.comparingInt((Bind bind) -> bind.destination().length()).reversed())
            .toList();
  }

  /**
   * Of a container that runs: everything mounted in it is seen, memory file systems included. Every
   * method throws {@link Ended} when it does not run any more.
   *
   * @param ids its users, if it has any of its own: archives have them as the container does
   */
  public static RootFiles running(long pid, Optional<IdRange> ids) {
    // where it is mounted read-only, the kernel refuses to write
    return new RootFiles(ContainerRoot.of(pid), true, false, List.of(), ids);
  }

  /** Of one that does not run; {@code root} has to be mounted. */
  public static RootFiles stopped(
      Path root, boolean readOnly, List<Bind> binds, Optional<IdRange> ids) {
    return new RootFiles(root, false, readOnly, binds, ids);
  }

  /** What is at a path; a link as last name is told, not followed. */
  public PathStat stat(String path) {
    InnerPath inner = InnerPath.parse(path);
    return with(
        inner,
        (rooted, at) -> {
          OpenDirectory parent = rooted.directory(at.parent());
          String name = at.name().isEmpty() ? OpenDirectory.SELF : at.name();
          FileStat stat = parent.stat(name);
          Optional<String> target =
              stat.kind() == FileKind.SYMLINK
                  ? Optional.of(InnerPath.readable(parent.readSymlink(name)))
                  : Optional.empty();
          return new PathStat(
              lastName(inner),
              stat.size(),
              stat.mode(),
              Instant.ofEpochSecond(stat.modifiedSeconds(), stat.modifiedNanos()),
              target);
        });
  }

  /** Writes an archive in which the last name of the path is the first member. */
  public void copyOut(String path, OutputStream out) throws InterruptedException {
    InnerPath inner = InnerPath.parse(path);
    withInterrupt(
        inner,
        (rooted, at) -> {
          var tar = new TarWriter(out);
          var archive = new TreeArchive(tar, ids);
          OpenDirectory parent = rooted.directory(at.parent());
          if (at.name().isEmpty()) {
            archive.addContent(parent, inner.whole().isEmpty() ? "" : raw(lastName(inner)));
          } else {
            parent.stat(at.name());
            archive.add(parent, at.name(), inner.name());
          }
          tar.finish();
          return true;
        });
  }

  /** Unpacks an archive into a directory that exists; links to it are followed. */
  public void copyIn(String directory, InputStream in) throws InterruptedException {
    requireWritable(followed(directory));
    fill(directory, in);
  }

  private static InnerPath followed(String directory) {
    return new InnerPath(InnerPath.parse(directory).whole(), "");
  }

  /** As {@link #copyIn}, also where the container itself may only read. */
  public void fill(String directory, InputStream in) throws InterruptedException {
    withInterrupt(
        followed(directory),
        (rooted, at) -> {
          var source = new Source(in);
          try {
            new TreeUnpack(rooted, at.whole(), ids).unpack(new TarReader(source));
            return true;
          } catch (TarException e) {
            throw new AgentException.InvalidSpec(String.valueOf(e.getMessage()), e);
          } catch (IOException e) {
            // what comes from elsewhere than from a client fails in ways of its own
            if (source.failed && (e instanceof EOFException || e instanceof ZipException)) {
              throw new AgentException.InvalidSpec(
                  "the archive cannot be read: " + e.getMessage(), e);
            }
            throw e;
          }
        });
  }

  /** Remembers whether it was the archive that failed, and not the directory it is unpacked to. */
  private static final class Source extends FilterInputStream {
    private boolean failed;

    Source(InputStream in) {
      super(in);
    }

    @Override
    public int read() throws IOException {
      failed = true;
      int read = in.read();
      failed = false;
      return read;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      failed = true;
      int read = in.read(bytes, offset, length);
      failed = false;
      return read;
    }

    @Override
    public long skip(long count) throws IOException {
      failed = true;
      long skipped = in.skip(count);
      failed = false;
      return skipped;
    }
  }

  private interface Work<T> {
    T with(RootedDirectory rooted, InnerPath at) throws IOException, InterruptedException;
  }

  private <T> T with(InnerPath path, Work<T> work) {
    try {
      return withInterrupt(path, work);
    } catch (InterruptedException e) {
      throw new IllegalStateException("reading attributes does not wait", e);
    }
  }

  /** Does something at a path, below the root or below what is mounted in it. */
  private <T> T withInterrupt(InnerPath path, Work<T> work) throws InterruptedException {
    return BlockingPool.STREAMS.call(() -> here(path, work));
  }

  private <T> T here(InnerPath path, Work<T> work) throws InterruptedException {
    String whole = path.whole();
    try {
      Optional<Bind> bind = bind(whole);
      if (bind.isPresent()) {
        return below(bind.get(), destination(bind.get()), path, work);
      }
      try (var rooted = open()) {
        return work.with(rooted, path);
      }
    } catch (ErrnoException e) {
      throw failure(whole, e);
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot copy '/%s': %s".formatted(InnerPath.readable(whole), e.getMessage()), e);
    }
  }

  private RootedDirectory open() throws ErrnoException {
    try {
      return RootedDirectory.openWithMounts(root);
    } catch (ErrnoException e) {
      if (ofProcess && (e.errno() == ErrnoException.ENOENT || e.errno() == ErrnoException.ESRCH)) {
        throw new Ended(e);
      }
      throw e;
    }
  }

  /** The innermost of those that a path is in. */
  private Optional<Bind> bind(String whole) {
    return binds.stream()
        .filter(
            bind -> whole.equals(destination(bind)) || whole.startsWith(destination(bind) + "/"))
        .findFirst();
  }

  private static String destination(Bind bind) {
    return InnerPath.parse(bind.destination() + "/").parent();
  }

  private void requireWritable(InnerPath path) {
    Optional<Bind> bind = bind(path.whole());
    if (bind.map(Bind::readOnly).orElse(readOnly)) {
      throw new AgentException.InvalidSpec(
          "cannot write to '/%s': %s is read-only in this container"
              .formatted(
                  InnerPath.readable(path.whole()),
                  bind.map(Bind::destination).orElse("the root file system")));
    }
  }

  private static <T> T below(Bind bind, String destination, InnerPath path, Work<T> work)
      throws IOException, InterruptedException {
    if (!Files.isDirectory(bind.source())) {
      Path holder = Objects.requireNonNull(bind.source().toAbsolutePath().getParent());
      try (var rooted = RootedDirectory.open(holder)) {
        String name = raw(bind.source().getFileName().toString());
        return work.with(rooted, new InnerPath("", name));
      }
    }
    try (var rooted = RootedDirectory.open(bind.source())) {
      boolean itself = path.whole().equals(destination);
      String parent = itself ? "" : after(path.parent(), destination);
      return work.with(rooted, new InnerPath(parent, itself ? "" : path.name()));
    }
  }

  private static String after(String path, String destination) {
    return path.length() <= destination.length() ? "" : path.substring(destination.length() + 1);
  }

  private static AgentException failure(String whole, ErrnoException e) {
    String path = "/" + InnerPath.readable(whole);
    return switch (e.errno()) {
      case ErrnoException.ENOENT ->
          new AgentException.NotFound(
              "path '" + path + "'", "the container has no such file or directory");
      case ErrnoException.ENOTDIR, ErrnoException.ELOOP, ErrnoException.ENAMETOOLONG ->
          new AgentException.InvalidSpec("'%s' cannot be used: %s".formatted(path, e.getMessage()));
      case ErrnoException.EROFS, ErrnoException.ENOSPC, ErrnoException.EBUSY ->
          new AgentException.InvalidSpec(
              "cannot write to '%s': %s".formatted(path, e.getMessage()), e);
      default ->
          new AgentException.Internal("cannot copy '%s': %s".formatted(path, e.getMessage()), e);
    };
  }

  private static String lastName(InnerPath path) {
    String whole = path.whole();
    return whole.isEmpty() ? "/" : InnerPath.readable(whole.substring(whole.lastIndexOf('/') + 1));
  }

  private static String raw(String text) {
    return InnerPath.raw(text);
  }
}
