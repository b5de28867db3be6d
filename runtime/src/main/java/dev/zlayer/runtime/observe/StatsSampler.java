package dev.zlayer.runtime.observe;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.Stats;
import dev.zlayer.container.StatsSample;
import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Keeps the last readings of all running containers, so that a question is answered at once and
 * with a rate. {@link SamplerLoop} calls {@link #sampleAll} and {@link #sampleAsked}; any thread
 * may ask.
 */
public final class StatsSampler {
  /** A kept reading this young is as good as a new one. */
  static final Duration FRESH = Duration.ofSeconds(2);

  /** Readings closer together than this tell no rate: the kernel's counters move in steps. */
  private static final Duration APART = Duration.ofMillis(200);

  private record Watched(StatsSource source, Optional<StatsSample> last) {}

  private final InstantSource clock;
  private final Map<ContainerId, Watched> watched = new ConcurrentHashMap<>();

  /** When somebody asked for one of them for the last time. */
  private final Map<ContainerId, Instant> asked = new ConcurrentHashMap<>();

  private volatile Instant askedForAll = Instant.EPOCH;
  private volatile StatsListener listener = StatsListener.NONE;

  public StatsSampler(InstantSource clock) {
    this.clock = clock;
  }

  /** Whoever gets all readings from now on. */
  public void listen(StatsListener listener) {
    this.listener = listener;
  }

  /** A container started. Its first reading is taken at once, so the next one can tell a rate. */
  public void add(ContainerId id, StatsSource source) {
    watched.put(id, new Watched(source, Optional.empty()));
    sample(id);
  }

  /** A container started, and the first reading can wait: most containers are never asked about. */
  public void watch(ContainerId id, StatsSource source) {
    watched.put(id, new Watched(source, Optional.empty()));
  }

  /** A container ended. */
  public void remove(ContainerId id) {
    watched.remove(id);
    asked.remove(id);
  }

  /**
   * The last sample, or a new one when it is too old to be true.
   *
   * @throws AgentException.Conflict the container does not run
   */
  public StatsSample sampleOf(ContainerId id) {
    Watched entry = watched.get(id);
    if (entry != null) {
      asked.put(id, clock.instant());
    }
    Optional<StatsSample> kept = entry == null ? Optional.empty() : entry.last();
    if (kept.isEmpty() || old(kept.get())) {
      kept = sample(id);
    }
    return kept.orElseThrow(
        () -> new AgentException.Conflict("container '" + id + "' does not run"));
  }

  /** The last samples of all, without reading anything. */
  public Map<ContainerId, StatsSample> all() {
    askedForAll = clock.instant();
    var samples =
        new TreeMap<ContainerId, StatsSample>(Comparator.comparing(ContainerId::toString));
    watched.forEach((id, entry) -> entry.last().ifPresent(last -> samples.put(id, last)));
    return samples;
  }

  /** Takes a reading of every container; those that ended are dropped. */
  void sampleAll() {
    watched.keySet().forEach(this::sample);
    listener.sampledAll(clock.instant());
  }

  /** Takes a reading of the containers that somebody has asked for since. */
  void sampleAsked(Instant since) {
    if (!askedForAll.isBefore(since)) {
      sampleAll();
      return;
    }
    asked.forEach(
        (id, at) -> {
          if (!at.isBefore(since)) {
            Optional<StatsSample> _ = sample(id);
          } else {
            asked.remove(id, at);
          }
        });
  }

  int size() {
    return watched.size();
  }

  private boolean old(StatsSample sample) {
    return Duration.between(sample.now().time(), clock.instant()).compareTo(FRESH) > 0;
  }

  private Optional<StatsSample> sample(ContainerId id) {
    Watched entry = watched.get(id);
    if (entry == null) {
      return Optional.empty();
    }
    try {
      Stats now = entry.source().read(clock.instant());
      var sample = new StatsSample(now, before(entry, now));
      watched.replace(id, entry, new Watched(entry.source(), Optional.of(sample)));
      listener.sampled(id, sample);
      return Optional.of(sample);
    } catch (NoSuchFileException _) {
      watched.remove(id, entry);
      asked.remove(id);
      return Optional.empty();
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot read what container '%s' uses: %s".formatted(id, e.getMessage()), e);
    }
  }

  private static Optional<Stats> before(Watched entry, Stats now) {
    Optional<Stats> last = entry.last().map(StatsSample::now);
    boolean apart =
        last.isPresent() && Duration.between(last.get().time(), now.time()).compareTo(APART) >= 0;
    return apart ? last : entry.last().flatMap(StatsSample::before).or(() -> last);
  }
}
