package dev.zlayer.engine.job;

import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.StoredFormat;
import dev.zlayer.spec.read.JobReader;
import dev.zlayer.spec.storage.StorageSpec;
import dev.zlayer.task.LazyLogger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** The files of jobs that belong to no deployment, as the state store has them. */
public final class SingleJobs {
  static final String KIND = "job";
  static final StoredFormat FORMAT = StoredFormat.of("the job");

  private static final System.Logger LOG = LazyLogger.of(SingleJobs.class);

  private final StateStore store;
  private final InstantSource clock;

  public SingleJobs(StateStore store, InstantSource clock) {
    this.store = store;
    this.clock = clock;
  }

  record Stored(String name, String file, Path directory) {
    byte[] write() {
      return JsonText.bytes(
          FORMAT
              .begin()
              .put("name", name)
              .put("directory", directory.toString())
              .put("file", file)
              .build());
    }

    static Stored read(byte[] bytes) {
      Json json = FORMAT.upgrade(JsonText.parse(bytes), "state.db");
      return new Stored(
          json.at("name").string().orElseThrow(),
          json.at("file").string().orElseThrow(),
          Path.of(json.at("directory").string().orElseThrow()));
    }

    JobDefinition definition() {
      JobReader.JobFile read =
          JobReader.read(name + ".yml", file.getBytes(StandardCharsets.UTF_8), Optional.of(name));
      return new JobDefinition(JobKey.single(name), read.service(), Optional.of(directory));
    }
  }

  /** All that this program can read, by name. */
  public List<JobDefinition> definitions() {
    return store.list(KIND).stream().flatMap(entry -> definition(entry).stream()).toList();
  }

  /** A file that a newer or older program wrote and this one refuses is kept and not run. */
  private static Optional<JobDefinition> definition(StateStore.Entry entry) {
    try {
      return Optional.of(Stored.read(entry.value()).definition());
    } catch (RuntimeException e) {
      LOG.log(
          System.Logger.Level.WARNING,
          "job '%s' is ignored: %s".formatted(entry.key(), e.getMessage()));
      return Optional.empty();
    }
  }

  /** A damaged one is replaced, one of a later program is not. */
  private static boolean same(byte[] known, Stored stored) {
    try {
      return Stored.read(known).equals(stored);
    } catch (AgentException.Configuration e) {
      throw new AgentException.Conflict(String.valueOf(e.getMessage()));
    } catch (RuntimeException _) {
      return false;
    }
  }

  /** The volumes that their files name. */
  public Set<String> volumes() {
    return definitions().stream()
        .flatMap(job -> job.service().storage().stream())
        .filter(StorageSpec.Named.class::isInstance)
        .map(storage -> ((StorageSpec.Named) storage).name())
        .collect(Collectors.toSet());
  }

  /** Makes a job durable; the same file once more changes nothing. False when it was new. */
  boolean put(String name, byte[] file, Path directory) {
    var stored = new Stored(name, new String(file, StandardCharsets.UTF_8), directory);
    JobDefinition _ = stored.definition(); // refuses what cannot be run
    Optional<byte[]> before = store.find(KIND, name);
    if (before.filter(known -> same(known, stored)).isEmpty()) {
      commit(new Change.Put(KIND, name, stored.write()), "job.registered", name);
    }
    return before.isPresent();
  }

  void remove(String name) {
    if (store.find(KIND, name).isEmpty()) {
      throw new AgentException.NotFound("job '" + name + "'", "'zlayer job ls' lists all jobs");
    }
    commit(new Change.Delete(KIND, name), "job.unregistered", name);
  }

  private void commit(Change.Write write, String event, String name) {
    var happened = new Event(clock.instant(), event, name, Json.object().build());
    long _ = store.commit(new Change(List.of(write), List.of(happened)));
  }
}
