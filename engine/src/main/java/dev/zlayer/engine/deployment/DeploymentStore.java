package dev.zlayer.engine.deployment;

import dev.zlayer.engine.job.JobDefinition;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Quarantine;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.read.SpecReader;
import dev.zlayer.spec.read.SpecResult;
import dev.zlayer.spec.storage.StorageSpec;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.TaskScope;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What the state store has about deployments. Only reads; the loops write. Made before the job
 * executor and the schedules, which need to know the jobs of all deployments when they are opened.
 */
public final class DeploymentStore {
  private static final System.Logger LOG = LazyLogger.of(DeploymentStore.class);

  private final StateStore store;

  /** Files that the jobs were read from before the deployments are opened, which need them too. */
  private final Map<String, ParsedFile> parsed = new ConcurrentHashMap<>();

  /** What {@link #volumes} has found. */
  private final Map<DeploymentRecord, Optional<Set<String>>> declared = new ConcurrentHashMap<>();

  private volatile boolean opened;

  private record ParsedFile(Revision revision, DeploymentSpec spec) {}

  public DeploymentStore(StateStore store) {
    this.store = store;
  }

  /**
   * Repairs what is damaged first: a deployment whose record cannot be read keeps its revisions,
   * and the newest of them is wanted.
   */
  public static DeploymentStore open(StateStore store, Instant now) {
    var deployments = new DeploymentStore(store);
    for (StateStore.Entry entry : store.list(DeploymentRecord.KIND)) {
      try {
        DeploymentRecord _ = DeploymentRecord.read(entry.value());
      } catch (AgentException.Configuration e) {
        LOG.log(
            System.Logger.Level.ERROR,
            "deployment '%s' is left alone: %s".formatted(entry.key(), e.getMessage()));
      } catch (RuntimeException e) {
        Quarantine.put(store, DeploymentRecord.KIND, entry, e, now);
        deployments.revisions(entry.key()).stream()
            .max(Comparator.comparingLong(Revision::number))
            .map(newest -> DeploymentRecord.fresh(entry.key(), now).with(newest))
            .ifPresent(
                record ->
                    store.commit(
                        Change.of(
                            new Change.Put(DeploymentRecord.KIND, entry.key(), record.write()))));
      }
    }
    return deployments;
  }

  /** Why a deployment that only a later program can read is left alone, by name. */
  public Map<String, String> later() {
    var all = new TreeMap<String, String>();
    for (StateStore.Entry entry : store.list(DeploymentRecord.KIND)) {
      try {
        DeploymentRecord _ = DeploymentRecord.read(entry.value());
      } catch (AgentException.Configuration e) {
        all.put(entry.key(), String.valueOf(e.getMessage()));
      } catch (RuntimeException _) {
        // damaged; the next start repairs it
      }
    }
    return all;
  }

  /**
   * Keeps what a later program wrote from being overwritten.
   *
   * @throws AgentException.Conflict only a later program can read it
   */
  void requireReadable(String deployment) {
    try {
      Optional<DeploymentRecord> _ = record(deployment);
    } catch (AgentException.Configuration e) {
      throw new AgentException.Conflict(
          "deployment '%s' cannot be changed: %s".formatted(deployment, e.getMessage()));
    } catch (RuntimeException _) {
      // damaged, and replaced
    }
  }

  /** The jobs and schedules of all deployments, for {@code JobExecutor}. */
  public List<JobDefinition> jobs() {
    return all(this::jobs);
  }

  /** Those that this node runs by itself, for {@code CronScheduler}. */
  public List<JobDefinition> schedules() {
    return all(
        record -> newest(record).flatMap(Revision::share).isPresent() ? List.of() : jobs(record));
  }

  private List<JobDefinition> all(Function<DeploymentRecord, List<JobDefinition>> jobs) {
    List<DeploymentRecord> current =
        records().stream().filter(record -> !record.removing()).toList();
    return together(current, jobs).stream().flatMap(List::stream).toList();
  }

  /** The results in the same order, by all processors: there may be thousands of files to parse. */
  private static <T, R> List<R> together(List<T> all, Function<T, R> work) {
    try (var scope =
        new TaskScope("read deployments", Runtime.getRuntime().availableProcessors())) {
      List<TaskScope.Task<R>> tasks =
          all.stream().map(one -> scope.fork(() -> work.apply(one))).toList();
      scope.join();
      return tasks.stream().map(TaskScope.Task::result).toList();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AgentException.Internal("interrupted while deployments were read", e);
    }
  }

  /**
   * Where relative paths of a deployment's file start.
   *
   * @throws AgentException.NotFound there is no such deployment
   */
  public Path directory(String deployment) {
    return record(deployment)
        .flatMap(this::newest)
        .map(Revision::directory)
        .orElseThrow(() -> unknown(deployment));
  }

  /**
   * The volumes that the files of deployments name, by deployment. Asked whenever somebody looks at
   * a volume, so a file is parsed for it only once.
   */
  public Map<String, Set<String>> volumes() {
    var all = new TreeMap<String, Set<String>>();
    List<DeploymentRecord> records = records();
    declared.keySet().retainAll(Set.copyOf(records));
    for (DeploymentRecord record : records) {
      Optional<Set<String>> names =
          declared.computeIfAbsent(record, _ -> newest(record).map(DeploymentStore::volumes));
      names.ifPresent(found -> all.put(record.name(), found));
    }
    return all;
  }

  private static Set<String> volumes(Revision revision) {
    // keys that this program does not support must not make a volume look unused
    return SpecReader.read(revision.deployment(), revision.bytes())
            instanceof SpecResult.Valid(DeploymentSpec spec, _, _)
        ? spec.services().values().stream()
            .flatMap(service -> service.storage().stream())
            .filter(StorageSpec.Named.class::isInstance)
            .map(storage -> ((StorageSpec.Named) storage).name())
            .collect(Collectors.toSet())
        : Set.of();
  }

  /** All that are kept, oldest first. */
  public List<Revision> revisions(String deployment) {
    return store.list(DeploymentRecord.REVISIONS, deployment + "/").stream()
        .flatMap(entry -> readable(entry.key(), entry.value(), DeploymentRecord::readRevision))
        .toList();
  }

  /** The numbers of {@link #revisions}, without reading the files. */
  List<Long> revisionNumbers(String deployment) {
    String prefix = deployment + "/";
    return store.keys(DeploymentRecord.REVISIONS, prefix).stream()
        .map(key -> Long.parseLong(key.substring(prefix.length())))
        .toList();
  }

  /** Of all deployments, those that are being taken away too. */
  public List<String> names() {
    return records().stream().map(DeploymentRecord::name).toList();
  }

  List<DeploymentRecord> records() {
    return store.list(DeploymentRecord.KIND).stream()
        .flatMap(entry -> readable(entry.key(), entry.value(), DeploymentRecord::read))
        .toList();
  }

  /** What cannot be read is passed over: it keeps nothing else from working. */
  private static <T> Stream<T> readable(String key, byte[] value, Function<byte[], T> codec) {
    try {
      return Stream.of(codec.apply(value));
    } catch (RuntimeException e) {
      LOG.log(
          System.Logger.Level.WARNING, "record %s is ignored: %s".formatted(key, e.getMessage()));
      return Stream.empty();
    }
  }

  Optional<DeploymentRecord> record(String deployment) {
    return store.find(DeploymentRecord.KIND, deployment).map(DeploymentRecord::read);
  }

  Optional<Revision> revision(String deployment, long number) {
    String key = DeploymentRecord.revisionKey(deployment, number);
    return store.find(DeploymentRecord.REVISIONS, key).stream()
        .flatMap(bytes -> readable(key, bytes, DeploymentRecord::readRevision))
        .findFirst();
  }

  /** The one that is wanted. */
  Optional<Revision> newest(DeploymentRecord record) {
    return Optional.ofNullable(parsed.get(record.name()))
        .map(ParsedFile::revision)
        .filter(known -> known.number() == record.revision())
        .or(() -> revision(record.name(), record.revision()));
  }

  /** Throws what {@link DeploymentFile#read} throws. */
  DeploymentSpec spec(Revision revision) {
    ParsedFile known = parsed.get(revision.deployment());
    if (known != null && known.revision().equals(revision)) {
      return known.spec();
    }
    DeploymentSpec spec = DeploymentFile.read(revision);
    if (!opened) {
      parsed.put(revision.deployment(), new ParsedFile(revision, spec));
    }
    return spec;
  }

  /** All deployments have what they need: from now on they keep it themselves. */
  void opened() {
    opened = true;
    parsed.clear();
  }

  /** A file that a newer or older program wrote and this one refuses has no jobs. */
  private List<JobDefinition> jobs(DeploymentRecord record) {
    try {
      return newest(record)
          .map(revision -> jobs(spec(revision), revision.directory(), revision.share()))
          .orElse(List.of());
    } catch (AgentException _) {
      return List.of();
    }
  }

  static List<JobDefinition> jobs(DeploymentSpec spec) {
    return spec.services().entrySet().stream()
        .filter(entry -> entry.getValue().rtype() != RunType.SERVICE)
        .map(
            entry ->
                new JobDefinition(new JobKey(spec.deployment(), entry.getKey()), entry.getValue()))
        .toList();
  }

  /** A cluster starts its schedules itself. */
  static List<JobDefinition> schedules(DeploymentSpec spec, Optional<Share> share) {
    return share.isPresent() ? List.of() : jobs(spec);
  }

  /** With the directory, so that nobody who starts one has to read the revision for it. */
  static List<JobDefinition> jobs(DeploymentSpec spec, Path directory, Optional<Share> share) {
    return jobs(spec).stream()
        .map(job -> new JobDefinition(job.key(), job.service(), Optional.of(directory)))
        .map(job -> share.isPresent() ? job.shared() : job)
        .toList();
  }

  static AgentException.NotFound unknown(String deployment) {
    return new AgentException.NotFound(
        "deployment '" + deployment + "'", "'zlayer status' lists those there are");
  }
}
