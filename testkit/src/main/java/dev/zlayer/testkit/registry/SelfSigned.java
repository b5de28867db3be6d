package dev.zlayer.testkit.registry;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.nio.file.Path;
import java.time.Duration;

/** A certificate that is its own authority. */
public final class SelfSigned {
  private static final Duration LIMIT = Duration.ofSeconds(30);

  private SelfSigned() {}

  /** For that name and for 127.0.0.1. */
  public static void make(Path directory, String name) {
    var openssl =
        Command.of(
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=" + name,
            "-addext",
            "subjectAltName=DNS:%s,IP:127.0.0.1".formatted(name),
            "-keyout",
            key(directory).toString(),
            "-out",
            certificate(directory).toString());
    try {
      var _ = Processes.check(openssl, Deadline.after(LIMIT));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }

  public static Path certificate(Path directory) {
    return directory.resolve("cert.pem");
  }

  public static Path key(Path directory) {
    return directory.resolve("key.pem");
  }
}
