package dev.zlayer.engine.depend;

import dev.zlayer.depend.DependencyStatus;
import java.util.Collections;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Where the services and jobs of one deployment publish their statuses. A change reaches only those
 * who follow its name, so its cost does not grow with the deployment. Thread-safe.
 */
public final class DependencyStatuses {
  private final Map<String, DependencyStatus> statuses = new ConcurrentHashMap<>();
  private final Map<String, Set<Subscription>> followers = new ConcurrentHashMap<>();

  /** Notifies those who follow the name, unless nothing has changed. */
  public void publish(String name, DependencyStatus status) {
    if (!status.equals(statuses.put(name, status))) {
      followers.getOrDefault(name, Set.of()).forEach(subscription -> subscription.changed.run());
    }
  }

  /** The last status of everybody, now and later. */
  public Map<String, DependencyStatus> statuses() {
    return Collections.unmodifiableMap(statuses);
  }

  public Optional<DependencyStatus> find(String name) {
    return Optional.ofNullable(statuses.get(name));
  }

  /** Follows nobody yet; {@code changed} is called on the thread that published. */
  public Subscription subscribe(Runnable changed) {
    return new Subscription(changed);
  }

  /** The names whose statuses somebody waits for. */
  public final class Subscription implements AutoCloseable {
    private final Runnable changed;
    private Set<String> names = Set.of();

    private Subscription(Runnable changed) {
      this.changed = changed;
    }

    /**
     * Follows these from now on, and nobody else.
     *
     * @return whether one of them is new: what it has published before has to be read now
     */
    public synchronized boolean follow(Set<String> wanted) {
      if (wanted.equals(names)) {
        return false;
      }
      Set<String> added = new HashSet<>(wanted);
      added.removeAll(names);
      added.forEach(this::add);
      names.stream().filter(name -> !wanted.contains(name)).forEach(this::remove);
      names = Set.copyOf(wanted);
      return !added.isEmpty();
    }

    private void add(String name) {
      followers.compute(
          name,
          (_, before) -> {
            Set<Subscription> all = before == null ? ConcurrentHashMap.newKeySet() : before;
            all.add(this);
            return all;
          });
    }

    private void remove(String name) {
      followers.computeIfPresent(
          name,
          (_, all) -> {
            all.remove(this);
            return all.isEmpty() ? null : all;
          });
    }

    @Override
    public void close() {
      boolean _ = follow(Set.of());
    }
  }
}
