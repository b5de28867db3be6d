package dev.zlayer.testkit.fake;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.FakeClock;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * What outlives an agent: the containers and images of a machine that does not exist. Two {@link
 * FakeRuntime}s over one world are an agent before and after its restart.
 *
 * <p>All state is guarded by one lock. With a {@link FakeClock} time passes only by {@link
 * FakeClock#advance}; with any other clock waiters wake when something is due.
 */
public final class FakeWorld {
  private static final long MIN_WAIT = TimeUnit.MILLISECONDS.toNanos(1);

  /** Answers an exec in place of a process. */
  @FunctionalInterface
  public interface ExecHandler {
    ExecResult run(ContainerId id, ExecSpec spec);
  }

  /** How an exec ends and what it prints. */
  public record ExecResult(int code, String stdout, String stderr) {}

  /** A held lock. */
  interface Held extends AutoCloseable {
    @Override
    void close();
  }

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final InstantSource clock;
  private final Map<ContainerId, FakeState> containers = new LinkedHashMap<>();
  private final List<String> journal = new ArrayList<>();
  private final FakeImages images = new FakeImages(this);
  private Optional<ExecHandler> execHandler = Optional.empty();
  private long pids = 1000;

  public FakeWorld(InstantSource clock) {
    this.clock = clock;
    if (clock instanceof FakeClock fake) {
      fake.onAdvance(this::moveOn);
    }
  }

  /** Every change that was asked for, in order: {@code create web/app/1}, {@code start ...}. */
  public List<String> journal() {
    try (var _ = lock()) {
      return List.copyOf(journal);
    }
  }

  /** From now on execs are answered by {@code handler}, on the caller's thread. */
  public void onExec(ExecHandler handler) {
    try (var _ = lock()) {
      execHandler = Optional.of(handler);
    }
  }

  public FakeImages images() {
    return images;
  }

  /** Takes the lock and does what is due by now. */
  Held lock() {
    lock.lock();
    settle();
    return lock::unlock;
  }

  Instant now() {
    return clock.instant();
  }

  /** Needs the lock, like all below. */
  Map<ContainerId, FakeState> containers() {
    return containers;
  }

  void note(String step, ContainerId id) {
    journal.add(step + " " + id.path());
  }

  Optional<ExecHandler> execHandler() {
    return execHandler;
  }

  long nextPid() {
    return pids++;
  }

  List<ContainerId> users(ImageRef image) {
    return containers.values().stream()
        .filter(state -> state.spec().image().equals(image))
        .map(FakeState::id)
        .toList();
  }

  void changed() {
    changed.signalAll();
  }

  /** Blocks until {@code holds}; {@code wake} is a further time at which to look. */
  void await(BooleanSupplier holds, Deadline deadline, Optional<Instant> wake, String doing)
      throws InterruptedException {
    settle();
    while (!holds.getAsBoolean()) {
      deadline.check(doing);
      long nanos = Math.min(deadline.leftNanos(), untilNext(wake));
      long _ = changed.awaitNanos(Math.max(MIN_WAIT, nanos));
      settle();
    }
  }

  /** A clock that is moved by hand tells when it moves; any other has to be waited for. */
  private long untilNext(Optional<Instant> wake) {
    if (clock instanceof FakeClock) {
      return Long.MAX_VALUE;
    }
    Instant now = now();
    long nanos = wake.map(time -> Duration.between(now, time).toNanos() + 1).orElse(Long.MAX_VALUE);
    for (FakeState state : containers.values()) {
      nanos = Math.min(nanos, state.next().map(t -> nanosTo(now, t)).orElse(Long.MAX_VALUE));
    }
    return nanos;
  }

  private static long nanosTo(Instant now, Instant time) {
    Duration duration = Duration.between(now, time);
    return duration.compareTo(Duration.ofDays(1)) > 0 ? Long.MAX_VALUE : duration.toNanos();
  }

  private void settle() {
    Instant now = now();
    containers.values().forEach(state -> state.settle(now));
  }

  private void moveOn() {
    try (var _ = lock()) {
      changed();
    }
  }
}
