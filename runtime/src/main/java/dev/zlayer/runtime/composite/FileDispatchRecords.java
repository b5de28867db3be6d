package dev.zlayer.runtime.composite;

import dev.zlayer.container.ContainerId;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** One small file per container, written so that a crash leaves the old or the new one. */
public final class FileDispatchRecords implements DispatchRecords {
  private static final System.Logger LOG = System.getLogger(FileDispatchRecords.class.getName());
  private static final String SUFFIX = ".json";

  private final Path directory;

  private FileDispatchRecords(Path directory) {
    this.directory = directory;
  }

  public static FileDispatchRecords open(Path directory) {
    try {
      Files.createDirectories(directory);
      sweep(directory);
      return new FileDispatchRecords(directory);
    } catch (IOException e) {
      throw failed("open", directory, e);
    }
  }

  /** Half-written files of a crash; only at the start, when nobody writes yet. */
  private static void sweep(Path directory) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        if (!file.getFileName().toString().endsWith(SUFFIX)) {
          Files.deleteIfExists(file);
        }
      }
    }
  }

  /** A damaged file is left where it is: its container is found again through its runtime. */
  @Override
  public List<DispatchRecord> load() {
    var records = new ArrayList<DispatchRecord>();
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : (Iterable<Path>) files.sorted()::iterator) {
        if (file.getFileName().toString().endsWith(SUFFIX)) {
          try {
            records.add(
                RecordJson.read(JsonText.parse(Files.readAllBytes(file)), DispatchRecord.class));
          } catch (AgentException.InvalidSpec e) {
            LOG.log(System.Logger.Level.ERROR, "cannot read " + file + ": " + e.getMessage());
          }
        }
      }
      return records;
    } catch (IOException e) {
      throw failed("read", directory, e);
    }
  }

  @Override
  public void save(DispatchRecord record) {
    Path file = file(record.id());
    try {
      AtomicFile.write(file, JsonText.bytes(RecordJson.write(record)));
    } catch (IOException e) {
      throw failed("write", file, e);
    }
  }

  @Override
  public void delete(ContainerId id) {
    Path file = file(id);
    try {
      if (Files.deleteIfExists(file)) {
        AtomicFile.syncDirectory(directory);
      }
    } catch (IOException e) {
      throw failed("delete", file, e);
    }
  }

  private Path file(ContainerId id) {
    return directory.resolve(id.runtimeName() + SUFFIX);
  }

  private static AgentException failed(String doing, Path file, IOException e) {
    return new AgentException.Configuration(
        "cannot %s %s: %s".formatted(doing, file, e.getMessage()), e);
  }
}
