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
 * with a rate. {@link SamplerLoop} calls {@link #sampleAll}; any thread may ask.
 */
public final class StatsSampler {
  /** A kept reading this young is as good as a new one. */
  static final Duration FRESH = Duration.ofSeconds(2);

  /** Readings closer together than this tell no rate: the kernel's counters move in steps. */
  private static final Duration APART = Duration.ofMillis(200);

  private record Watched(StatsSource source, Optional<StatsSample> last) {}

  private final InstantSource clock;
  private final Map<ContainerId, Watched> watched = new ConcurrentHashMap<>();
  private volatile Instant asked = Instant.EPOCH;

  public StatsSampler(InstantSource clock) {
    this.clock = clock;
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
  }

  /**
   * The last sample, or a new one when it is too old to be true.
   *
   * @throws AgentException.Conflict the container does not run
   */
  public StatsSample sampleOf(ContainerId id) {
    asked = clock.instant();
    Watched entry = watched.get(id);
    Optional<StatsSample> kept = entry == null ? Optional.empty() : entry.last();
    if (kept.isEmpty() || old(kept.get())) {
      kept = sample(id);
    }
    return kept.orElseThrow(
        () -> new AgentException.Conflict("container '" + id + "' does not run"));
  }

  /** The last samples of all, without reading anything. */
  public Map<ContainerId, StatsSample> all() {
    asked = clock.instant();
    var samples =
        new TreeMap<ContainerId, StatsSample>(Comparator.comparing(ContainerId::toString));
    watched.forEach((id, entry) -> entry.last().ifPresent(last -> samples.put(id, last)));
    return samples;
  }

  /** Takes a reading of every container; those that ended are dropped. */
  void sampleAll() {
    watched.keySet().forEach(this::sample);
  }

  /** When somebody asked for the last time. */
  Instant asked() {
    return asked;
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
      return Optional.of(sample);
    } catch (NoSuchFileException _) {
      watched.remove(id, entry);
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
