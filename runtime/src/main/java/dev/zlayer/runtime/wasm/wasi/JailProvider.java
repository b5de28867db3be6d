package dev.zlayer.runtime.wasm.wasi;

import java.io.IOException;
import java.net.URI;
import java.nio.channels.FileChannel;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.AccessMode;
import java.nio.file.CopyOption;
import java.nio.file.DirectoryStream;
import java.nio.file.FileStore;
import java.nio.file.FileSystem;
import java.nio.file.FileSystemLoopException;
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
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Does to files of the host what a module asks for, within one directory. */
final class JailProvider extends FileSystemProvider {
  private static final int MOST_LINKS = 40;

  private final JailFileSystem jail;
  private final Path root;
  private final boolean readOnly;
  private final Refusal refusal;

  JailProvider(JailFileSystem jail, Path root, boolean readOnly, Refusal refusal) {
    this.jail = jail;
    this.root = root;
    this.readOnly = readOnly;
    this.refusal = refusal;
  }

  boolean readOnly() {
    return readOnly;
  }

  /** The same file without links on the way. */
  JailPath real(JailPath path) throws IOException {
    Path found = host(path, true);
    if (!Files.exists(found, LinkOption.NOFOLLOW_LINKS)) {
      throw new NoSuchFileException(path.toString());
    }
    return new JailPath(jail, jail.top().name().resolve(root.relativize(found)));
  }

  /**
   * Where a name leads on the host: every part is looked at, and a link is followed only to where
   * it leads inside.
   */
  private Path host(Path path, boolean followLast) throws IOException {
    Deque<String> left = new ArrayDeque<>();
    for (Path part : JailPath.name(path)) {
      left.add(part.toString());
    }
    Path at = root;
    int links = 0;
    while (!left.isEmpty()) {
      String part = left.removeFirst();
      if (part.equals("..")) {
        at = at.equals(root) ? root : parent(at);
      } else if (!part.isEmpty() && !part.equals(".")) {
        Path next = at.resolve(part);
        boolean follow = followLast || !left.isEmpty();
        if (follow && Files.isSymbolicLink(next)) {
          if (++links > MOST_LINKS) {
            throw new FileSystemLoopException(path.toString());
          }
          unfold(Files.readSymbolicLink(next), at, left);
        } else {
          at = next;
        }
      }
    }
    return at;
  }

  /** Puts the parts of a link's target in front, unless it leads out. */
  private void unfold(Path target, Path from, Deque<String> left) throws IOException {
    Path there = from.resolve(target).normalize();
    if (target.isAbsolute() || !there.startsWith(root)) {
      refusal.of(Refusal.ACCESS, target.toString(), "the link leads out of the directory");
      throw new NoSuchFileException(target.toString());
    }
    for (int i = target.getNameCount() - 1; i >= 0; i--) {
      left.addFirst(target.getName(i).toString());
    }
  }

  private static Path parent(Path path) {
    Path parent = path.getParent();
    return parent == null ? path : parent;
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
    Path file = host(path, true);
    // opening a pipe waits for its other end, and nothing could end that wait
    if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)
        && !Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
      throw refusal.of(Refusal.NOT_PERMITTED, path.toString(), "only files can be opened");
    }
    var all = new HashSet<OpenOption>(options);
    all.add(LinkOption.NOFOLLOW_LINKS);
    return FileChannel.open(file, all, attributes);
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
    DirectoryStream<Path> entries = Files.newDirectoryStream(host(directory, true));
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
    Files.createDirectory(host(directory, false), attributes);
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
    Path from = plain(existing);
    Files.createLink(host(link, false), from);
  }

  @Override
  public void delete(Path path) throws IOException {
    requireWritable(path);
    Files.delete(inside(host(path, false), path));
  }

  /**
   * Where the link leads inside. Its text would only be right seen from where the link is, and the
   * WASI layer does not look at it from there.
   */
  @Override
  public Path readSymbolicLink(Path link) throws IOException {
    Path found = host(link, false);
    Deque<String> rest = new ArrayDeque<>();
    unfold(Files.readSymbolicLink(found), parent(found), rest);
    Path target = parent(found).resolve(String.join("/", rest)).normalize();
    return new JailPath(jail, jail.top().name().resolve(root.relativize(target)));
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
    Path from = inside(plain(source), source);
    // a move keeps all attributes, and the system's own provider refuses to be told so
    CopyOption[] meant =
        Arrays.stream(options)
            .filter(option -> option != StandardCopyOption.COPY_ATTRIBUTES)
            .toArray(CopyOption[]::new);
    Files.move(from, other.inside(other.host(target, false), target), meant);
  }

  /** A name that is not a link itself: those stay where they are. */
  private Path plain(Path path) throws IOException {
    Path found = host(path, false);
    if (Files.isSymbolicLink(found)) {
      throw refusal.of(
          Refusal.NOT_PERMITTED, path.toString(), "a module cannot move or copy symbolic links");
    }
    return found;
  }

  private Path inside(Path found, Path path) throws IOException {
    if (found.equals(root)) {
      throw refusal.of(
          Refusal.NOT_PERMITTED, path.toString(), "the directory itself stays as it is");
    }
    return found;
  }

  @Override
  public boolean isSameFile(Path one, Path other) throws IOException {
    return Files.isSameFile(host(one, true), host(other, true));
  }

  @Override
  public boolean isHidden(Path path) {
    return false;
  }

  @Override
  public FileStore getFileStore(Path path) throws IOException {
    throw refusal.of(Refusal.NOT_PERMITTED, path.toString(), "not told");
  }

  @Override
  public void checkAccess(Path path, AccessMode... modes) throws IOException {
    Path found = host(path, true);
    found.getFileSystem().provider().checkAccess(found, modes);
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
      return view().readAttributes();
    }

    @Override
    public void setTimes(
        @Nullable FileTime modified, @Nullable FileTime accessed, @Nullable FileTime created)
        throws IOException {
      requireWritable(path);
      view().setTimes(modified, accessed, created);
    }

    private BasicFileAttributeView view() throws IOException {
      return Files.getFileAttributeView(
          host(path, follow), BasicFileAttributeView.class, LinkOption.NOFOLLOW_LINKS);
    }
  }

  @Override
  public <A extends BasicFileAttributes> A readAttributes(
      Path path, Class<A> type, LinkOption... options) throws IOException {
    return Files.readAttributes(host(path, follows(options)), type, LinkOption.NOFOLLOW_LINKS);
  }

  @Override
  public Map<String, Object> readAttributes(Path path, String attributes, LinkOption... options)
      throws IOException {
    return Files.readAttributes(
        host(path, follows(options)), attributes, LinkOption.NOFOLLOW_LINKS);
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
