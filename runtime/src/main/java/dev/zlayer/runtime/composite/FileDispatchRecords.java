package dev.zlayer.runtime.composite;

import dev.zlayer.container.ContainerId;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AppendedFile;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.runtime.lifecycle.Identities;
import dev.zlayer.task.LazyLogger;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;

/**
 * One file of lines for all containers: a record, or the name of one that is dropped. A container
 * thus costs no file of its own. What an earlier process wrote is never added to but written anew
 * at the first change, so that nothing is glued to a line that a crash has torn.
 */
public final class FileDispatchRecords implements DispatchRecords, Identities {
  private static final System.Logger LOG = LazyLogger.of(FileDispatchRecords.class);
  private static final String SUFFIX = ".json";
  private static final String DROPPED = "dropped";

  /** How much may be added, besides as much again, before all is written anew. */
  private static final int MOST_ADDED = 256 * 1024;

  /** What may be recorded of one container and of all, in bytes. */
  private static final int LARGEST = 256 << 10;

  private static final long LARGEST_SUM = 8L << 20;

  private final Path file;
  private final ReentrantLock lock = new ReentrantLock();

  /** By name; what the file says. Guarded by the lock, as is all below. */
  private final Map<String, DispatchRecord> kept = new LinkedHashMap<>();

  /** By name; lines that only a later program can read, kept as they are for it. */
  private final Map<String, String> later = new LinkedHashMap<>();

  /** How long each of them is as a line. */
  private final Map<String, Integer> sizes = new HashMap<>();

  /** Whether this process wrote the file, then of this length and by now of that. */
  private boolean ours;

  private long whole;
  private long length;

  private FileDispatchRecords(Path directory) {
    this.file = directory.resolve("all" + SUFFIX);
  }

  public static FileDispatchRecords open(Path directory) {
    try {
      Files.createDirectories(directory);
      sweep(directory);
      var records = new FileDispatchRecords(directory);
      records.read();
      return records;
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

  /** What cannot be read is passed over: its container is found again through its runtime. */
  private void read() throws IOException {
    if (Files.exists(file)) {
      // line by line and with whatever bytes damage has left: the file may be larger than the heap
      try (var lines =
          new BufferedReader(
              new InputStreamReader(Files.newInputStream(file), StandardCharsets.UTF_8))) {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          take(line);
        }
      }
    }
  }

  private void take(String line) {
    try {
      Json json = JsonText.parse(line);
      Optional<String> dropped = json.at(DROPPED).string();
      if (dropped.isPresent()) {
        put(dropped.get(), Optional.empty(), 0);
      } else {
        if (DispatchRecord.FORMAT.later(json)) {
          later.put(name(json), line);
        }
        DispatchRecord record =
            RecordJson.read(DispatchRecord.FORMAT.upgrade(json, file), DispatchRecord.class);
        put(record.id().runtimeName(), Optional.of(record), line.length());
      }
    } catch (AgentException.InvalidSpec | AgentException.Configuration e) {
      LOG.log(System.Logger.Level.ERROR, "cannot read all of " + file + ": " + e.getMessage());
    }
  }

  /** Who a container is does not depend on the version, as far as can be foreseen. */
  private String name(Json json) {
    try {
      return RecordJson.read(json.at("id"), ContainerId.class).runtimeName();
    } catch (AgentException.InvalidSpec _) {
      return "line " + later.size();
    }
  }

  @Override
  public Optional<Identities.Identity> find(String runtimeName) {
    lock.lock();
    try {
      return Optional.ofNullable(kept.get(runtimeName))
          .map(record -> new Identities.Identity(record.id(), record.spec()));
    } finally {
      lock.unlock();
    }
  }

  @Override
  public List<DispatchRecord> load() {
    lock.lock();
    try {
      return List.copyOf(kept.values());
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void save(DispatchRecord record) {
    try {
      change(record.id().runtimeName(), Optional.of(record));
    } catch (IOException e) {
      throw failed("write", file, e);
    }
  }

  @Override
  public void delete(ContainerId id) {
    try {
      change(id.runtimeName(), Optional.empty());
    } catch (IOException e) {
      throw failed("write", file, e);
    }
  }

  private void change(String name, Optional<DispatchRecord> next) throws IOException {
    lock.lock();
    try {
      byte[] line = bytes(next.map(RecordJson::write).orElseGet(() -> dropped(name)));
      int size = next.isPresent() ? line.length : 0;
      if (next.isPresent()) {
        requireRoom(next.get().id(), size);
      }
      if (next.isEmpty() && !kept.containsKey(name) && !later.containsKey(name)) {
        return;
      }
      if (!ours || length > 2 * whole + MOST_ADDED || damaged()) {
        replace(name, next, size);
        return;
      }
      if (next.isEmpty() && kept.size() == 1 && later.isEmpty()) {
        clear();
      } else {
        add(line);
      }
      put(name, next, size);
    } finally {
      lock.unlock();
    }
  }

  /** Everything here is kept in memory, and read at the next start: it has to fit. */
  private void requireRoom(ContainerId id, int size) {
    if (size > LARGEST) {
      throw new AgentException.InvalidSpec(
          "container %s is described by %d bytes, mostly environment, labels and arguments; at most %d are possible"
              .formatted(id, size, LARGEST));
    }
    full()
        .ifPresent(
            problem -> {
              throw new AgentException.Busy(problem);
            });
  }

  /** Why no further container can be recorded. */
  public Optional<String> full() {
    lock.lock();
    try {
      return total() > LARGEST_SUM
          ? Optional.of(
              "the descriptions of all containers have more than %d bytes: remove some containers"
                  .formatted(LARGEST_SUM))
          : Optional.empty();
    } finally {
      lock.unlock();
    }
  }

  private long total() {
    return sizes.values().stream().mapToLong(Integer::longValue).sum();
  }

  private void add(byte[] line) throws IOException {
    AppendedFile.append(file, length, line);
    length += line.length;
  }

  /** Somebody else has cut or removed it, so that nothing can be added to it. */
  private boolean damaged() {
    try {
      return Files.size(file) < length;
    } catch (IOException _) {
      return true;
    }
  }

  /** A node without containers has an empty file. */
  private void clear() throws IOException {
    AppendedFile.append(file, 0, new byte[0]);
    length = 0;
  }

  private void replace(String name, Optional<DispatchRecord> next, int size) throws IOException {
    var after = new LinkedHashMap<>(kept);
    next.ifPresentOrElse(record -> after.put(name, record), () -> after.remove(name));
    var written = new AtomicLong();
    AtomicFile.write(
        file,
        out -> {
          for (DispatchRecord record : after.values()) {
            byte[] line = bytes(RecordJson.write(record));
            out.write(line);
            written.addAndGet(line.length);
          }
          for (var kept : later.entrySet()) {
            if (!kept.getKey().equals(name)) {
              byte[] line = (kept.getValue() + "\n").getBytes(StandardCharsets.UTF_8);
              out.write(line);
              written.addAndGet(line.length);
            }
          }
        });
    ours = true;
    whole = written.get();
    length = whole;
    put(name, next, size);
  }

  private void put(String name, Optional<DispatchRecord> next, int size) {
    later.remove(name);
    if (next.isPresent()) {
      kept.put(name, next.get());
      sizes.put(name, size);
    } else {
      kept.remove(name);
      sizes.remove(name);
    }
  }

  private static Json dropped(String name) {
    return Json.object().put(DROPPED, name).build();
  }

  private static byte[] bytes(Json line) {
    return (JsonText.print(line) + "\n").getBytes(StandardCharsets.UTF_8);
  }

  private static AgentException failed(String doing, Path file, IOException e) {
    return new AgentException.Configuration(
        "cannot %s %s: %s".formatted(doing, file, e.getMessage()), e);
  }
}
