package dev.zlayer.engine.job;

import dev.zlayer.container.LogQuery;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The kept output of attempts. A short one becomes part of the record of its end, which costs
 * nothing extra; a longer one is streamed to a file beside the artifacts of its execution, so that
 * however many jobs end at once, their output is never in memory.
 */
final class JobLogStore {
  /** So much of a log may be in memory and in the database. */
  private static final int SHORT = 64 << 10;

  private static final int BUFFER = 16 << 10;

  private final ArtifactStore files;

  JobLogStore(ArtifactStore files) {
    this.files = files;
  }

  /**
   * What was kept.
   *
   * @param log a short one; empty when it is in a file, or when there was no output
   */
  @SuppressWarnings("ArrayRecordComponent") // output is bytes, never compared
  record Kept(byte[] log, Attempt.Output output) {
    static final Kept NOTHING = new Kept(new byte[0], Attempt.Output.NONE);
  }

  /** Keeps what a container printed, up to a limit; keeping it again replaces it. */
  Kept keep(ExecutionId id, int attempt, long limit, Container container)
      throws InterruptedException {
    OutputCapture capture;
    try (var reader = container.logs(LogQuery.ALL)) {
      capture = new OutputCapture(limit, reader);
    }
    if (capture.size() == 0) {
      return Kept.NOTHING;
    }
    if (capture.size() <= SHORT) {
      var log = new ByteArrayOutputStream((int) capture.size());
      write(capture, container, log);
      return new Kept(log.toByteArray(), capture.output());
    }
    files.keep(
        id, name(attempt), out -> write(capture, container, new BufferedOutputStream(out, BUFFER)));
    return new Kept(new byte[0], capture.output());
  }

  private static void write(OutputCapture capture, Container container, OutputStream out)
      throws InterruptedException {
    try (var reader = container.logs(LogQuery.ALL);
        var writer = new OutputCodec.Writer(out)) {
      capture.write(reader, writer);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Removes the file with the output of an attempt, if it has one; returns its bytes. */
  long drop(ExecutionId id, int attempt) {
    Path file = files.path(id, name(attempt));
    try {
      long bytes = Files.exists(file) ? Files.size(file) : 0;
      Files.deleteIfExists(file);
      return bytes;
    } catch (NoSuchFileException _) {
      return 0; // retention was faster
    } catch (IOException e) {
      throw new AgentException.Configuration("cannot remove " + file + ": " + e, e);
    }
  }

  /** Reads what was kept; {@code log} is what the record of the end has of it. */
  KeptLogReader open(ExecutionId id, Attempt attempt, Optional<byte[]> log, LogQuery query) {
    Path file = files.path(id, name(attempt.number()));
    if (log.isEmpty() && attempt.output().kept() > 0 && !Files.exists(file)) {
      throw new AgentException.NotFound(
          "output of attempt %d of execution '%s'".formatted(attempt.number(), id),
          "its %d bytes were removed because the disk was full, or are damaged"
              .formatted(attempt.output().kept()));
    }
    return new KeptLogReader(
        () -> log.isEmpty() && Files.exists(file) ? input(file) : input(log), query);
  }

  private static InputStream input(Path file) {
    try {
      return new BufferedInputStream(Files.newInputStream(file), BUFFER);
    } catch (IOException e) {
      throw new AgentException.Configuration("cannot read " + file + ": " + e, e);
    }
  }

  private static InputStream input(Optional<byte[]> log) {
    return new ByteArrayInputStream(log.orElseGet(() -> new byte[0]));
  }

  private static String name(int attempt) {
    return attempt + ".log";
  }
}
