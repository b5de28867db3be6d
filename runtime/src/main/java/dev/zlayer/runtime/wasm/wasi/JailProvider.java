package dev.zlayer.runtime.wasm.wasi;

import dev.zlayer.host.linux.Beneath.Held;
import java.io.IOException;
import java.net.URI;
import java.nio.channels.FileChannel;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.AccessMode;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.CopyOption;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileStore;
import java.nio.file.FileSystem;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileAttributeView;
import java.nio.file.attribute.FileTime;
import java.nio.file.spi.FileSystemProvider;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Does to files of the host what a module asks for, within one directory. */
final class JailProvider extends FileSystemProvider {
  private static final int ATTEMPTS = 100;

  private final JailFileSystem jail;
  private final JailRoot names;
  private final boolean readOnly;
  private final Refusal refusal;

  JailProvider(JailFileSystem jail, Path root, boolean readOnly, Refusal refusal) {
    this.jail = jail;
    this.names = new JailRoot(jail, root, refusal);
    this.readOnly = readOnly;
    this.refusal = refusal;
  }

  boolean readOnly() {
    return readOnly;
  }

  /** The same file without links on the way. */
  JailPath real(JailPath path) throws IOException {
    try (Held file = names.file(path)) {
      return names.inside(path, file.place());
    }
  }

  private void requireWritable(Path path) throws IOException {
    if (readOnly) {
      throw refusal.of(Refusal.READ_ONLY, path.toString(), "the directory is read-only");
    }
  }

  private static boolean follows(LinkOption... options) {
    return !Arrays.asList(options).contains(LinkOption.NOFOLLOW_LINKS);
  }

  @Override
  public FileChannel newFileChannel(
      Path path, Set<? extends OpenOption> options, FileAttribute<?>... attributes)
      throws IOException {
    boolean writes =
        options.contains(StandardOpenOption.WRITE)
            || options.contains(StandardOpenOption.APPEND)
            || options.contains(StandardOpenOption.CREATE)
            || options.contains(StandardOpenOption.CREATE_NEW);
    if (writes) {
      requireWritable(path);
    }
    boolean creates =
        options.contains(StandardOpenOption.CREATE)
            || options.contains(StandardOpenOption.CREATE_NEW);
    for (int attempt = 0; ; attempt++) {
      try {
        return options.contains(StandardOpenOption.CREATE_NEW)
            ? create(path, options, attributes)
            : open(path, options);
      } catch (NoSuchFileException e) {
        if (!creates || refusal.pending()) {
          throw e;
        }
      }
      try {
        return create(path, options, attributes);
      } catch (FileAlreadyExistsException e) {
        if (attempt == ATTEMPTS) { // somebody makes and removes it all the time
          throw e;
        }
      }
    }
  }

  private FileChannel open(Path path, Set<? extends OpenOption> options) throws IOException {
    try (Held file = names.file(path)) {
      // opening a pipe waits for its other end, and nothing could end that wait
      if (!Files.isRegularFile(file.path())) {
        throw refusal.of(Refusal.NOT_PERMITTED, path.toString(), "only files can be opened");
      }
      var meant = new HashSet<OpenOption>(options);
      meant.remove(StandardOpenOption.CREATE);
      meant.remove(LinkOption.NOFOLLOW_LINKS); // what is held is reached through one
      return FileChannel.open(file.path(), meant);
    }
  }

  private FileChannel create(
      Path path, Set<? extends OpenOption> options, FileAttribute<?>... attributes)
      throws IOException {
    try (Held entry = names.entry(path)) {
      var meant = new HashSet<OpenOption>(options);
      meant.add(StandardOpenOption.CREATE_NEW);
      meant.add(StandardOpenOption.WRITE);
      meant.add(LinkOption.NOFOLLOW_LINKS);
      return FileChannel.open(entry.path(), meant, attributes);
    }
  }

  @Override
  public SeekableByteChannel newByteChannel(
      Path path, Set<? extends OpenOption> options, FileAttribute<?>... attributes)
      throws IOException {
    return newFileChannel(path, options, attributes);
  }

  @Override
  @SuppressWarnings("StreamResourceLeak") // whoever closes the stream returned closes this one
  public DirectoryStream<Path> newDirectoryStream(
      Path directory, DirectoryStream.Filter<? super Path> filter) throws IOException {
    DirectoryStream<Path> entries;
    try (Held held = names.file(directory)) {
      entries = Files.newDirectoryStream(held.path());
    }
    Iterator<Path> paths = entries.iterator();
    return new DirectoryStream<>() {
      @Override
      public Iterator<Path> iterator() {
        return new Iterator<>() {
          @Override
          public boolean hasNext() {
            return paths.hasNext();
          }

          @Override
          public Path next() {
            return directory.resolve(String.valueOf(paths.next().getFileName()));
          }
        };
      }

      @Override
      public void close() throws IOException {
        entries.close();
      }
    };
  }

  @Override
  public void createDirectory(Path directory, FileAttribute<?>... attributes) throws IOException {
    requireWritable(directory);
    try (Held entry = names.entry(directory)) {
      Files.createDirectory(entry.path(), attributes);
    }
  }

  @Override
  public void createSymbolicLink(Path link, Path target, FileAttribute<?>... attributes)
      throws IOException {
    requireWritable(link);
    throw refusal.of(Refusal.NOT_PERMITTED, link.toString(), "a module cannot make symbolic links");
  }

  @Override
  public void createLink(Path link, Path existing) throws IOException {
    requireWritable(link);
    if (!(existing instanceof JailPath other) || !other.jail().equals(jail)) {
      throw refusal.of(Refusal.OTHER_DEVICE, link.toString(), "it is in another directory");
    }
    try (Held from = plain(existing);
        Held to = names.entry(link)) {
      Files.createLink(to.path(), from.path());
    }
  }

  @Override
  public void delete(Path path) throws IOException {
    requireWritable(path);
    try (Held entry = names.entry(path)) {
      Files.delete(entry.path());
    }
  }

  /**
   * Where the link leads inside. Its text would only be right seen from where the link is, and the
   * WASI layer does not look at it from there.
   */
  @Override
  public Path readSymbolicLink(Path link) throws IOException {
    try (Held entry = names.entry(link)) {
      Path target = Files.readSymbolicLink(entry.path());
      Path there = entry.place().resolve(target).normalize();
      if (target.isAbsolute() || !there.startsWith(names.root())) {
        refusal.of(Refusal.ACCESS, target.toString(), "the link leads out of the directory");
        throw new NoSuchFileException(target.toString());
      }
      return names.inside(link, there);
    }
  }

  @Override
  public void copy(Path source, Path target, CopyOption... options) throws IOException {
    throw refusal.of(Refusal.NOT_PERMITTED, source.toString(), "modules copy files themselves");
  }

  @Override
  public void move(Path source, Path target, CopyOption... options) throws IOException {
    JailProvider other = target instanceof JailPath path ? path.jail().provider() : this;
    requireWritable(source);
    other.requireWritable(target);
    try (Held from = plain(source);
        Held to = other.names.entry(target)) {
      // renamed or not at all: copying would follow what is swapped meanwhile
      Files.move(from.path(), to.path(), StandardCopyOption.ATOMIC_MOVE);
    } catch (AtomicMoveNotSupportedException _) {
      throw refusal.of(Refusal.OTHER_DEVICE, source.toString(), "it is on another file system");
    }
  }

  /** A name that is not a link itself: those stay where they are. */
  private Held plain(Path path) throws IOException {
    Held entry = names.entry(path);
    if (Files.isSymbolicLink(entry.path())) {
      entry.close();
      throw refusal.of(
          Refusal.NOT_PERMITTED, path.toString(), "a module cannot move or copy symbolic links");
    }
    return entry;
  }

  @Override
  public boolean isSameFile(Path one, Path other) throws IOException {
    try (Held first = names.file(one);
        Held second = names.file(other)) {
      return Files.isSameFile(first.path(), second.path());
    }
  }

  @Override
  public boolean isHidden(Path path) {
    return false;
  }

  @Override
  public FileStore getFileStore(Path path) throws IOException {
    throw refusal.of(Refusal.NOT_PERMITTED, path.toString(), "not available");
  }

  @Override
  public void checkAccess(Path path, AccessMode... modes) throws IOException {
    try (Held file = names.file(path)) {
      file.path().getFileSystem().provider().checkAccess(file.path(), modes);
    }
  }

  @Override
  public <V extends FileAttributeView> @Nullable V getFileAttributeView(
      Path path, Class<V> type, LinkOption... options) {
    return type.equals(BasicFileAttributeView.class)
        ? type.cast(new Times(path, follows(options)))
        : null;
  }

  /** Looks only when asked, since the interface cannot refuse before. */
  private final class Times implements BasicFileAttributeView {
    private final Path path;
    private final boolean follow;

    Times(Path path, boolean follow) {
      this.path = path;
      this.follow = follow;
    }

    @Override
    public String name() {
      return "basic";
    }

    @Override
    public BasicFileAttributes readAttributes() throws IOException {
      return JailProvider.this.readAttributes(path, BasicFileAttributes.class, links());
    }

    @Override
    public void setTimes(
        @Nullable FileTime modified, @Nullable FileTime accessed, @Nullable FileTime created)
        throws IOException {
      requireWritable(path);
      try (Held found = names.found(path, follow)) {
        LinkOption[] links = JailRoot.reached(path, follow);
        var facts = Files.readAttributes(found.path(), BasicFileAttributes.class, links);
        if (facts.isOther()) { // opening a pipe waits for its other end
          throw refusal.of(Refusal.NOT_PERMITTED, path.toString(), "only of files");
        }
        Files.getFileAttributeView(found.path(), BasicFileAttributeView.class, links)
            .setTimes(modified, accessed, created);
      }
    }

    private LinkOption[] links() {
      return follow ? new LinkOption[0] : new LinkOption[] {LinkOption.NOFOLLOW_LINKS};
    }
  }

  @Override
  public <A extends BasicFileAttributes> A readAttributes(
      Path path, Class<A> type, LinkOption... options) throws IOException {
    boolean follow = follows(options);
    try (Held found = names.found(path, follow)) {
      return Files.readAttributes(found.path(), type, JailRoot.reached(path, follow));
    }
  }

  @Override
  public Map<String, Object> readAttributes(Path path, String attributes, LinkOption... options)
      throws IOException {
    boolean follow = follows(options);
    try (Held found = names.found(path, follow)) {
      return Files.readAttributes(found.path(), attributes, JailRoot.reached(path, follow));
    }
  }

  @Override
  public void setAttribute(Path path, String attribute, Object value, LinkOption... options)
      throws IOException {
    throw refusal.of(Refusal.NOT_PERMITTED, path.toString(), "attributes stay as they are");
  }

  @Override
  public String getScheme() {
    return "jail";
  }

  @Override
  public FileSystem newFileSystem(URI uri, Map<String, ?> environment) {
    throw new UnsupportedOperationException("jails are made for mounts");
  }

  @Override
  public FileSystem getFileSystem(URI uri) {
    throw new UnsupportedOperationException("jails have no address");
  }

  @Override
  public Path getPath(URI uri) {
    throw new UnsupportedOperationException("jails have no address");
  }
}
