package dev.zlayer.cli.command;

import dev.zlayer.cli.Session;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpResponse;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import org.jspecify.annotations.Nullable;

/** An archive on its way from the daemon to a file or to standard output. */
public final class Archive {
  public static final String WHERE =
      "File to write (default: standard output, which must not be a terminal)";

  private Archive() {}

  /** Before anybody is asked. */
  public static void requirePlace(Session session, @Nullable String output) {
    if (output == null && session.terminal()) {
      throw new AgentException.InvalidSpec(
          "cannot write an archive to a terminal; use --output FILE or redirect standard output");
    }
  }

  /** A failure leaves no file, and an older one as it was. */
  public static void keep(Session session, @Nullable String output, HttpResponse archive)
      throws IOException {
    keep(session, output, archive, new FileAttribute<?>[0]);
  }

  /** The same, in a file that only its owner can read. */
  public static void keepPrivate(Session session, @Nullable String output, HttpResponse archive)
      throws IOException {
    keep(
        session,
        output,
        archive,
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
  }

  private static void keep(
      Session session, @Nullable String output, HttpResponse archive, FileAttribute<?>... mode)
      throws IOException {
    try (archive) {
      if (output == null) {
        archive.body().transferTo(session.out());
        session.out().flush();
      } else {
        toFile(archive, session.resolve(output), mode);
      }
    }
  }

  private static void toFile(HttpResponse archive, Path file, FileAttribute<?>... mode)
      throws IOException {
    Path partial = file.resolveSibling(file.getFileName() + ".partial");
    Files.deleteIfExists(partial);
    try {
      Files.createFile(partial, mode);
      try (OutputStream out = Files.newOutputStream(partial)) {
        archive.body().transferTo(out);
      }
      Files.move(partial, file, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(partial);
    }
  }
}
