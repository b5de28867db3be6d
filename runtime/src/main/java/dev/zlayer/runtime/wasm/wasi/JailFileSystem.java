package dev.zlayer.runtime.wasm.wasi;

import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.FileSystem;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.nio.file.WatchService;
import java.nio.file.attribute.UserPrincipalLookupService;
import java.util.List;
import java.util.Set;

/**
 * One directory of the host as a file system of its own. The WASI layer resolves names by their
 * text and lets the system follow links, which may lead anywhere; here the kernel resolves every
 * name below the directory ({@link JailRoot}), and what would leave it is not there, also when a
 * container that shares the volume swaps a directory for a link meanwhile.
 */
final class JailFileSystem extends FileSystem {
  private final JailProvider provider;
  private final JailPath top;

  private JailFileSystem(Path root, boolean readOnly, Refusal refusal) {
    this.provider = new JailProvider(this, root, readOnly, refusal);
    this.top = new JailPath(this, Path.of("/"));
  }

  /** The top of a jail over an existing directory. */
  static Path over(Path directory, boolean readOnly, Refusal refusal) throws IOException {
    if (!Files.isDirectory(directory)) {
      throw new IOException(directory + " is not a directory");
    }
    return new JailFileSystem(directory.toRealPath(), readOnly, refusal).top();
  }

  JailPath top() {
    return top;
  }

  @Override
  public JailProvider provider() {
    return provider;
  }

  @Override
  public void close() {
    throw new UnsupportedOperationException("a jail holds nothing to close");
  }

  @Override
  public boolean isOpen() {
    return true;
  }

  @Override
  public boolean isReadOnly() {
    return provider.readOnly();
  }

  @Override
  public String getSeparator() {
    return "/";
  }

  @Override
  public Iterable<Path> getRootDirectories() {
    return List.of(top);
  }

  @Override
  public Iterable<FileStore> getFileStores() {
    return List.of();
  }

  @Override
  public Set<String> supportedFileAttributeViews() {
    return Set.of("basic", "unix");
  }

  @Override
  public Path getPath(String first, String... more) {
    return new JailPath(this, Path.of(first, more));
  }

  @Override
  public PathMatcher getPathMatcher(String syntaxAndPattern) {
    throw new UnsupportedOperationException("no patterns in a jail");
  }

  @Override
  public UserPrincipalLookupService getUserPrincipalLookupService() {
    throw new UnsupportedOperationException("no users in a jail");
  }

  @Override
  public WatchService newWatchService() {
    throw new UnsupportedOperationException("nothing is watched in a jail");
  }
}
