package dev.zlayer.engine.job;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.oci.Digest;
import dev.zlayer.task.Saturating;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Decides which containers of jobs are made ahead, given away and removed. Knows neither clock nor
 * runtime nor thread.
 */
final class WarmPlanner {
  /**
   * What a container was, or would be, made from: variables, secrets, mounts and limits resolved,
   * and the image that its name means. Only an execution that wants exactly this may have it.
   *
   * @param image nothing where the image is not there, which fits no container
   */
  record Shape(ContainerSpec spec, Optional<Digest> image) {
    boolean fits(Shape other) {
      return image.isPresent() && equals(other);
    }
  }

  /** How far a container is. */
  enum Stage {
    /** Being made. */
    MAKING,
    /** Waits for an execution. */
    READY,
    /** Belongs to an execution. */
    TAKEN,
    /** Being removed. */
    LEAVING
  }

  /**
   * One container.
   *
   * @param shape once it is made
   * @param bytes of memory that it used when it was made
   */
  record Entry(long number, WarmTarget target, Stage stage, Optional<Shape> shape, long bytes) {
    Entry at(Stage next) {
      return new Entry(number, target, next, shape, bytes);
    }

    Entry made(Shape made, long used) {
      return new Entry(number, target, Stage.READY, Optional.of(made), used);
    }
  }

  /**
   * What is asked for.
   *
   * @param warm containers that are made
   * @param spare further ones that stay when they are there, since executions are about to take
   *     them
   * @param shape what the containers would be made from now, as far as that is known
   * @param used when it was defined, wanted for something new, or taken for the last time
   * @param notBefore a container could not be made; another is tried then
   * @param uses what it is wanted for
   */
  record Wanted(
      WarmTarget target,
      int warm,
      int spare,
      Optional<Shape> shape,
      Instant used,
      Optional<Instant> notBefore,
      Set<String> uses) {
    static Wanted of(WarmTarget target, Instant now) {
      return new Wanted(target, 0, 0, Optional.empty(), now, Optional.empty(), Set.of());
    }

    Wanted counting(int made, int more, Set<String> what) {
      return new Wanted(target, made, more, shape, used, notBefore, what);
    }

    /** Its job is another one now. */
    Wanted anew(Instant now) {
      return of(target, now).counting(warm, spare, uses);
    }

    Wanted with(Optional<Shape> next) {
      return new Wanted(target, warm, spare, next, used, notBefore, uses);
    }

    Wanted usedAt(Instant now) {
      return new Wanted(target, warm, spare, shape, now, notBefore, uses);
    }

    Wanted failed(Instant again) {
      return new Wanted(target, warm, spare, shape, used, Optional.of(again), uses);
    }

    Wanted moved(Duration by) {
      return new Wanted(
          target,
          warm,
          spare,
          shape,
          Saturating.plus(used, by),
          notBefore.map(time -> Saturating.plus(time, by)),
          uses);
    }
  }

  /**
   * Bounds for all jobs of a node.
   *
   * @param containers that wait or are being made
   * @param bytes of memory that those use
   * @param unused how long containers of a job stay that nobody triggers
   * @param parallel containers being made at the same time
   */
  record Limits(int containers, long bytes, Duration unused, int parallel) {
    static final Limits DEFAULT = new Limits(200, 1L << 30, Duration.ofMinutes(10), 2);
  }

  /** Why a container goes. */
  enum Reason {
    /** The job is gone or wants none any more. */
    NOT_WANTED,
    /** Image, spec, a secret, a variable, a volume or a limit is another one. */
    CHANGED,
    /** Nobody needed it for so long. */
    UNUSED
  }

  record Removal(long number, Reason reason) {}

  /**
   * What to do now.
   *
   * @param make one container of each of these, in this order
   * @param next when to plan again if nothing else happens
   */
  record Plan(List<WarmTarget> make, List<Removal> remove, Optional<Instant> next) {}

  private WarmPlanner() {}

  /**
   * Plans. While executions of these jobs are being started nothing is made, so that a burst has
   * all processors: what it finds ready is a gain, and the rest starts as it would without.
   *
   * @param starting executions that asked for a container and do not run yet
   */
  static Plan plan(
      Collection<Wanted> jobs,
      Collection<Entry> entries,
      int starting,
      Limits limits,
      Instant now) {
    List<Removal> remove = removals(jobs, entries, limits, now);
    Set<Long> leaving = new HashSet<>(remove.stream().map(Removal::number).toList());
    List<Entry> staying =
        entries.stream()
            .filter(entry -> !leaving.contains(entry.number()))
            .filter(entry -> entry.stage() == Stage.READY || entry.stage() == Stage.MAKING)
            .toList();
    List<WarmTarget> make = starting > 0 ? List.of() : missing(jobs, staying, limits, now);
    return new Plan(make, remove, next(jobs, staying, limits, now));
  }

  private static List<Removal> removals(
      Collection<Wanted> jobs, Collection<Entry> entries, Limits limits, Instant now) {
    var remove = new ArrayList<Removal>();
    for (WarmTarget target : entries.stream().map(Entry::target).distinct().sorted().toList()) {
      List<Entry> ready =
          entries.stream()
              .filter(entry -> entry.target().equals(target) && entry.stage() == Stage.READY)
              .sorted(Comparator.comparingLong(Entry::number))
              .toList();
      Optional<Wanted> wanted =
          jobs.stream().filter(one -> one.target().equals(target)).findFirst();
      int kept = 0;
      for (Entry entry : ready) {
        Optional<Reason> reason =
            wanted
                .map(one -> reason(one, entry, limits, now))
                .orElse(Optional.of(Reason.NOT_WANTED));
        if (reason.isEmpty() && kept == wanted.map(one -> one.warm() + one.spare()).orElse(0)) {
          reason = Optional.of(Reason.NOT_WANTED);
        }
        if (reason.isPresent()) {
          remove.add(new Removal(entry.number(), reason.get()));
        } else {
          kept++;
        }
      }
    }
    return remove;
  }

  private static Optional<Reason> reason(Wanted wanted, Entry entry, Limits limits, Instant now) {
    if (wanted.warm() + wanted.spare() == 0) {
      return Optional.of(Reason.NOT_WANTED);
    }
    boolean fits =
        wanted.shape().isEmpty() || entry.shape().filter(wanted.shape().get()::fits).isPresent();
    if (!fits) {
      return Optional.of(Reason.CHANGED);
    }
    return unused(wanted, limits, now) ? Optional.of(Reason.UNUSED) : Optional.empty();
  }

  private static boolean unused(Wanted wanted, Limits limits, Instant now) {
    return !now.isBefore(Saturating.plus(wanted.used(), limits.unused()));
  }

  /** One of each job in turn, so that a job that wants many does not keep others waiting. */
  private static List<WarmTarget> missing(
      Collection<Wanted> jobs, List<Entry> staying, Limits limits, Instant now) {
    int making = (int) staying.stream().filter(entry -> entry.stage() == Stage.MAKING).count();
    long bytes = staying.stream().mapToLong(Entry::bytes).sum();
    int room = Math.min(limits.parallel() - making, limits.containers() - staying.size());
    if (bytes >= limits.bytes()) {
      return List.of();
    }
    List<Wanted> lacking =
        jobs.stream()
            .filter(job -> job.warm() > 0 && !unused(job, limits, now))
            .filter(job -> job.notBefore().map(time -> !time.isAfter(now)).orElse(true))
            .sorted(
                Comparator.comparingLong((Wanted job) -> count(staying, job.target()))
                    .thenComparing(Wanted::target))
            .toList();
    var make = new ArrayList<WarmTarget>();
    for (boolean more = true; more && make.size() < room; ) {
      more = false;
      for (Wanted job : lacking) {
        long has =
            count(staying, job.target()) + make.stream().filter(job.target()::equals).count();
        if (has < job.warm() && make.size() < room) {
          make.add(job.target());
          more = true;
        }
      }
    }
    return make;
  }

  private static long count(List<Entry> staying, WarmTarget target) {
    return staying.stream().filter(entry -> entry.target().equals(target)).count();
  }

  private static Optional<Instant> next(
      Collection<Wanted> jobs, List<Entry> staying, Limits limits, Instant now) {
    return jobs.stream()
        .filter(job -> job.warm() + job.spare() > 0)
        .flatMap(
            job -> {
              Instant expiry = Saturating.plus(job.used(), limits.unused());
              return count(staying, job.target()) > 0
                  ? Optional.of(expiry).stream()
                  : job.notBefore().filter(time -> time.isBefore(expiry)).stream();
            })
        .filter(now::isBefore)
        .min(Comparator.naturalOrder());
  }

  /** The container that an execution gets: of those that are what it wants, the oldest. */
  static Optional<Entry> take(Collection<Entry> entries, JobKey job, Shape wanted) {
    return entries.stream()
        .filter(entry -> entry.target().job().equals(job) && entry.stage() == Stage.READY)
        .filter(entry -> entry.shape().filter(wanted::fits).isPresent())
        .min(Comparator.comparingLong(Entry::number));
  }
}
