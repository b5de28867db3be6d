package dev.zlayer.task;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Knows every {@link Owner} of an agent. An owner that keeps dying is reported here, so that a
 * process that serves can end with the reason and be started again.
 */
public final class Supervisor {
  private final Set<Owner<?>> owners = ConcurrentHashMap.newKeySet();
  private final Watched<Optional<String>> failure = new Watched<>(Optional.empty());

  /**
   * How one owner is.
   *
   * @param restarts how often it died and was started again, of late
   * @param reason why it does not work, or died last
   */
  public record Status(String name, Condition condition, int restarts, Optional<String> reason) {
    public boolean working() {
      return condition == Condition.RUNNING;
    }
  }

  /** Whether an owner works. */
  public enum Condition {
    RUNNING,
    /** A message has waited for long. */
    UNRESPONSIVE,
    /** It died too often and is not started again. */
    FAILED
  }

  void add(Owner<?> owner) {
    owners.add(owner);
  }

  void remove(Owner<?> owner) {
    owners.remove(owner);
  }

  void failed(String reason) {
    Optional<String> _ = failure.update(before -> before.or(() -> Optional.of(reason)));
  }

  /** All owners by name. */
  public List<Status> owners() {
    return owners.stream().map(Owner::status).sorted(Comparator.comparing(Status::name)).toList();
  }

  /** Why the agent cannot go on, once an owner has died too often. */
  public Optional<String> failure() {
    return failure.now();
  }

  /** Calls {@code listener} once an owner has failed for good; at once when one has. */
  public void onFailure(Runnable listener) {
    KeyedLock.Held _ = failure.onChange(listener);
    if (failure.now().isPresent()) {
      listener.run();
    }
  }
}
