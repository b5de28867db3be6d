package dev.zlayer.runtime.lifecycle;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AppendedFile;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordChanges;
import dev.zlayer.json.RecordJson;
import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * A record as lines of JSON: the first is all of it, every further one what changed since, so that
 * a change costs neither an inode nor the whole record. Only the last line can be torn by a crash;
 * then the record is as it was before.
 *
 * <p>What an earlier process wrote is never added to but written anew, whatever its form and its
 * end. Its owner lets one thread in at a time.
 */
final class RecordFile<R extends Record> {
  private static final System.Logger LOG = LazyLogger.of(RecordFile.class);

  /** How much may follow the first line before all is written anew. */
  private static final int MOST_CHANGES = 64 * 1024;

  private final Path file;

  /** By this process; what a refused write was about is not in it. */
  private Optional<R> written = Optional.empty();

  private long firstLine;
  private long length;

  /** Whether its name would survive a power failure. */
  private boolean named;

  RecordFile(Path file) {
    this.file = file;
  }

  /** Empty without a file; one of an earlier version is brought up to date. */
  static <R extends Record> Optional<R> read(Path file, Class<R> type) throws IOException {
    if (!Files.exists(file)) {
      return Optional.empty();
    }
    byte[] bytes = Files.readAllBytes(file);
    List<byte[]> lines = lines(bytes);
    Json.Obj whole = upgrade(file, parse(file, lines, 0));
    boolean cut = bytes[bytes.length - 1] != '\n';
    for (int i = 1; i < lines.size(); i++) {
      boolean last = i == lines.size() - 1;
      try {
        if (last && cut) {
          throw new IOException("%s, line %d: no line end".formatted(file, i + 1));
        }
        whole = RecordChanges.over(whole, parse(file, lines, i));
      } catch (IOException e) {
        if (!last) {
          throw e;
        }
        LOG.log(System.Logger.Level.WARNING, "a change was cut by a crash: " + e.getMessage());
      }
    }
    return Optional.of(RecordJson.read(whole, type));
  }

  private static Json.Obj upgrade(Path file, Json.Obj whole) throws IOException {
    try {
      return LifecycleRecord.FORMAT.upgrade(whole, file);
    } catch (AgentException.Configuration | AgentException.InvalidSpec e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  /** At least one, and without their ends; the last need not have had one. */
  private static List<byte[]> lines(byte[] bytes) {
    var lines = new ArrayList<byte[]>();
    int start = 0;
    for (int i = 0; i < bytes.length; i++) {
      if (bytes[i] == '\n') {
        lines.add(Arrays.copyOfRange(bytes, start, i));
        start = i + 1;
      }
    }
    if (start < bytes.length || lines.isEmpty()) {
      lines.add(Arrays.copyOfRange(bytes, start, bytes.length));
    }
    return lines;
  }

  private static Json.Obj parse(Path file, List<byte[]> lines, int index) throws IOException {
    try {
      if (JsonText.parse(lines.get(index)) instanceof Json.Obj found) {
        return found;
      }
      throw new IOException("%s, line %d: not an object".formatted(file, index + 1));
    } catch (AgentException.InvalidSpec e) {
      throw new IOException("%s, line %d: %s".formatted(file, index + 1, e.getMessage()), e);
    }
  }

  /** Survives a crash of this process, perhaps not a power failure. */
  void save(R record) throws IOException {
    save(record, false);
  }

  /** Survives a power failure, too, with all that was saved before. */
  void saveDurably(R record) throws IOException {
    save(record, true);
  }

  private void save(R record, boolean durably) throws IOException {
    if (written.isEmpty() || length - firstLine > MOST_CHANGES || damaged()) {
      replace(record, durably);
      return;
    }
    Json.Obj changes = RecordChanges.between(written.get(), record);
    if (durably || !changes.members().isEmpty()) {
      append(changes, durably);
      written = Optional.of(record);
    }
    if (durably && !named) {
      AtomicFile.syncName(file);
      named = true;
    }
  }

  /** Somebody else has cut it, so that nothing can be added; one that was removed stays removed. */
  private boolean damaged() {
    try {
      return Files.size(file) < length;
    } catch (IOException _) {
      return false;
    }
  }

  private void replace(R record, boolean durably) throws IOException {
    byte[] line = line(RecordJson.write(record));
    if (durably) {
      AtomicFile.write(file, line);
    } else {
      AtomicFile.writeRelaxed(file, line);
    }
    written = Optional.of(record);
    firstLine = line.length;
    length = line.length;
    named = durably;
  }

  private void append(Json.Obj changes, boolean durably) throws IOException {
    byte[] line = line(changes);
    if (durably) {
      AppendedFile.appendDurably(file, length, line);
    } else {
      AppendedFile.append(file, length, line);
    }
    length += line.length;
  }

  /** No text in it holds a line end: JSON writes those as escapes. */
  private static byte[] line(Json json) {
    return (JsonText.print(json) + "\n").getBytes(StandardCharsets.UTF_8);
  }
}
