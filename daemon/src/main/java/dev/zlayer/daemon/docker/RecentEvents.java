package dev.zlayer.daemon.docker;

import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Watched;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What clients do with containers without changing them, for those who watch. The newest are kept
 * in memory and no later agent knows them, as Docker keeps all its events: a write to the disk for
 * each process in a container would cost more than the process.
 */
final class RecentEvents {
  private static final int KEPT = 1024;

  /** One of them; numbered from 1. */
  record Recent(long number, Instant at, DockerEvents.Message message) {}

  private final InstantSource clock;
  private final ConcurrentNavigableMap<Long, Recent> kept = new ConcurrentSkipListMap<>();
  private final Watched<Long> last = new Watched<>(0L);
  private final AtomicInteger listeners = new AtomicInteger();

  RecentEvents(InstantSource clock) {
    this.clock = clock;
  }

  /** Records what was done with a container. */
  void record(Container container, String action, Map<String, String> more) {
    try {
      Map<String, String> attributes = attributes(container);
      attributes.putAll(more);
      record("container", action, DockerContainerIndex.id(container), attributes);
    } catch (AgentException.NotFound _) {
      // removed meanwhile: its removal is reported
    }
  }

  /** What every event of a container says of it. */
  static Map<String, String> attributes(Container container) {
    var attributes =
        new TreeMap<>(ContainerFacts.labels(container.id(), container.spec().labels()));
    attributes.put("image", container.spec().image().familiar());
    attributes.put("name", ContainerNames.of(container));
    return attributes;
  }

  /** Records something else than of a container. */
  void record(String type, String action, String id, Map<String, String> attributes) {
    last.update(
        before -> {
          long number = before + 1;
          var message = new DockerEvents.Message(type, action, id, attributes);
          kept.put(number, new Recent(number, clock.instant(), message));
          kept.headMap(number - KEPT, true).clear();
          return number;
        });
  }

  /** How many clients watch at this moment. */
  int listeners() {
    return listeners.get();
  }

  /** Counts a client that watches until it is closed. */
  Listening listen() {
    listeners.incrementAndGet();
    return listeners::decrementAndGet;
  }

  /** A client that watches. */
  interface Listening extends AutoCloseable {
    @Override
    void close();
  }

  long last() {
    return last.now();
  }

  /** Those after a number, oldest first. */
  List<Recent> after(long number) {
    return List.copyOf(kept.tailMap(number, false).values());
  }

  /** Blocks until there is one after a number, or the deadline passes. */
  void await(long number, Deadline deadline) throws InterruptedException {
    try {
      long _ = last.await(now -> now > number, deadline, "waiting for an event");
    } catch (AgentException.Timeout _) {
      // the caller looks at the time
    }
  }
}
