package dev.zlayer.runtime.wasm.wasi;

import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.WatchEvent;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import org.jspecify.annotations.Nullable;

/**
 * A path inside a jail. It is only a name: {@code /} is the jail's own root, whatever that is on
 * the host.
 *
 * @param name used for its grammar alone
 */
record JailPath(JailFileSystem jail, Path name) implements Path {
  private JailPath of(Path other) {
    return new JailPath(jail, other);
  }

  private @Nullable JailPath ofNullable(@Nullable Path other) {
    return other == null ? null : of(other);
  }

  static Path name(Path path) {
    return path instanceof JailPath inside ? inside.name : path;
  }

  @Override
  public FileSystem getFileSystem() {
    return jail;
  }

  @Override
  public boolean isAbsolute() {
    return name.isAbsolute();
  }

  @Override
  public @Nullable Path getRoot() {
    return ofNullable(name.getRoot());
  }

  @Override
  public @Nullable Path getFileName() {
    return ofNullable(name.getFileName());
  }

  @Override
  public @Nullable Path getParent() {
    return ofNullable(name.getParent());
  }

  @Override
  public int getNameCount() {
    return name.getNameCount();
  }

  @Override
  public Path getName(int index) {
    return of(name.getName(index));
  }

  @Override
  public Path subpath(int begin, int end) {
    return of(name.subpath(begin, end));
  }

  @Override
  public boolean startsWith(Path other) {
    return other instanceof JailPath inside
        && inside.jail.equals(jail)
        && name.startsWith(inside.name);
  }

  @Override
  public boolean endsWith(Path other) {
    return name.endsWith(name(other));
  }

  @Override
  public Path normalize() {
    return of(name.normalize());
  }

  @Override
  public Path resolve(Path other) {
    return of(name.resolve(name(other)));
  }

  @Override
  public Path relativize(Path other) {
    return of(name.relativize(name(other)));
  }

  @Override
  public URI toUri() {
    throw new UnsupportedOperationException("a path in a jail has no address");
  }

  @Override
  public Path toAbsolutePath() {
    return isAbsolute() ? this : of(jail.top().name().resolve(name));
  }

  @Override
  public Path toRealPath(LinkOption... options) throws IOException {
    return jail.provider().real(this);
  }

  @Override
  public File toFile() {
    throw new UnsupportedOperationException("a path in a jail is no file of the host");
  }

  @Override
  public WatchKey register(
      WatchService watcher, WatchEvent.Kind<?>[] events, WatchEvent.Modifier... modifiers) {
    throw new UnsupportedOperationException("nothing is watched in a jail");
  }

  @Override
  public int compareTo(Path other) {
    return name.compareTo(name(other));
  }

  @Override
  public String toString() {
    return name.toString();
  }
}
