package dev.zlayer.runtime.wasm.wasi;

import dev.zlayer.host.linux.Beneath;
import dev.zlayer.host.linux.Beneath.Held;
import dev.zlayer.host.linux.ErrnoException;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * The directory of the host that a jail shows. Names are resolved by the kernel and what they lead
 * to is held while it is used, so that nobody else who writes there can lead a module out.
 */
record JailRoot(JailFileSystem jail, Path root, Refusal refusal) {
  JailPath inside(Path path, Path place) throws IOException {
    if (!place.startsWith(root)) {
      throw new NoSuchFileException(path.toString()); // moved or removed just now
    }
    return new JailPath(jail, jail.top().name().resolve(root.relativize(place)));
  }

  /** What a name leads to, links followed. */
  Held file(Path path) throws IOException {
    try {
      return Beneath.file(root, name(path).toString());
    } catch (ErrnoException e) {
      throw translated(path, e);
    }
  }

  /** A name itself, whatever it is; the directory it is in is found. */
  Held entry(Path path) throws IOException {
    Path name = name(path);
    if (name.toString().isEmpty()) {
      throw refusal.of(
          Refusal.NOT_PERMITTED, path.toString(), "the directory itself stays as it is");
    }
    Path parent = name.getParent();
    try {
      return Beneath.entry(
          root, parent == null ? "" : parent.toString(), name.getFileName().toString());
    } catch (ErrnoException e) {
      throw translated(path, e);
    }
  }

  Held found(Path path, boolean follow) throws IOException {
    return follow || name(path).toString().isEmpty() ? file(path) : entry(path);
  }

  /** Relative to the root, without dots; what would be above the root is the root. */
  private static Path name(Path path) {
    Path top = Path.of("/");
    return top.relativize(top.resolve(JailPath.name(path)).normalize());
  }

  private IOException translated(Path path, ErrnoException e) {
    return switch (e.errno()) {
      case ErrnoException.ENOENT -> new NoSuchFileException(path.toString());
      case ErrnoException.ELOOP -> new FileSystemLoopException(path.toString());
      case ErrnoException.EXDEV -> {
        refusal.of(Refusal.ACCESS, path.toString(), "the link leads out of the directory");
        yield new NoSuchFileException(path.toString());
      }
      default -> new FileSystemException(path.toString(), null, e.getMessage());
    };
  }

  /** What is held itself is reached through a link of the kernel, a name in it is not. */
  static LinkOption[] reached(Path path, boolean follow) {
    return follow || name(path).toString().isEmpty()
        ? new LinkOption[0]
        : new LinkOption[] {LinkOption.NOFOLLOW_LINKS};
  }
}
