package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.cluster.store.ClusterStore.News;
import dev.zlayer.cluster.store.ClusterStore.Snapshot;
import dev.zlayer.cluster.store.ClusterStore.Watch;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What happened to the cluster as a whole, for readers on any node. The leader writes it together
 * with what it decides ({@link LeaderEvents}), so that each event is there once, and only the
 * newest are kept.
 */
public final class ClusterEventLog {
  /** One transaction has fewer events than this. */
  static final int PER_CHANGE = 1000;

  private static final Duration LIMIT = Duration.ofSeconds(5);

  /** A member of the store that is lost says nothing. */
  private static final Duration CHECK = Duration.ofSeconds(3);

  private final ClusterStore store;

  /**
   * One event.
   *
   * @param sequence only grows
   * @param kind such as {@code node.lost}
   * @param subject the node, the replica or the execution
   */
  public record Happened(long sequence, Instant time, String kind, String subject, Json facts) {}

  /**
   * Some events, oldest first.
   *
   * @param oldest the number of the oldest one that is kept; one more than {@code newest} when
   *     there is none
   * @param newest the number of the newest one that there ever was, 0 when there was none
   */
  public record Part(List<Happened> events, long oldest, long newest) {
    public Part {
      events = List.copyOf(events);
    }
  }

  /** Is given each event. */
  @FunctionalInterface
  public interface Reader {
    void event(Happened event) throws IOException, InterruptedException;
  }

  public ClusterEventLog(ClusterStore store) {
    this.store = store;
  }

  /** Those after a number. */
  public Part after(long sequence) throws InterruptedException {
    return after(sequence, store.list(StoreKeys.EVENTS, Deadline.after(LIMIT)));
  }

  private Part after(long sequence, Snapshot all) throws InterruptedException {
    var events = new ArrayList<Happened>();
    all.entries().forEach(entry -> events.addAll(parse(entry)));
    long newest = events.isEmpty() ? newest() : events.getLast().sequence();
    long oldest = events.isEmpty() ? newest + 1 : events.getFirst().sequence();
    return new Part(
        events.stream().filter(one -> one.sequence() > sequence).toList(), oldest, newest);
  }

  private long newest() throws InterruptedException {
    return store
        .find(StoreKeys.LAST_EVENT, Deadline.after(LIMIT))
        .map(entry -> Long.parseLong(entry.value()))
        .orElse(0L);
  }

  /**
   * Gives those after a number, and then each as it is written; ends by an exception alone.
   *
   * @param confirmed run whenever it is known that nothing is missing
   */
  public void follow(long sequence, Reader reader, Runnable confirmed)
      throws IOException, InterruptedException {
    long last = sequence;
    while (true) {
      Snapshot all = store.list(StoreKeys.EVENTS, Deadline.after(LIMIT));
      Part part = after(last, all);
      last = Math.min(last, part.newest()); // the state of the cluster may have been set back
      for (Happened event : part.events()) {
        reader.event(event);
        last = event.sequence();
      }
      confirmed.run();
      try (Watch watch = store.watch(StoreKeys.EVENTS, all.revision() + 1)) {
        last = follow(watch, last, reader, confirmed);
      }
    }
  }

  /** Until it is behind, and has to list again. */
  private long follow(Watch watch, long sequence, Reader reader, Runnable confirmed)
      throws IOException, InterruptedException {
    long last = sequence;
    while (true) {
      switch (watch.next(CHECK)) {
        case News.Compacted() -> {
          return last;
        }
        case News.Events(List<ClusterStore.Event> news) -> {
          for (ClusterStore.Event one : news) {
            if (one instanceof ClusterStore.Event.Set(Entry entry)) {
              for (Happened event : parse(entry)) {
                if (event.sequence() > last) {
                  reader.event(event);
                  last = event.sequence();
                }
              }
            }
          }
          if (news.isEmpty() && newest() > last) {
            return last;
          }
          confirmed.run();
        }
      }
    }
  }

  /** What cannot be read, because a later version wrote it, is left out. */
  private static List<Happened> parse(Entry entry) {
    var events = new ArrayList<Happened>();
    try {
      long first = first(entry.key());
      for (Json one : JsonText.parse(entry.value()).items()) {
        events.add(
            new Happened(
                first + events.size(),
                one.at("time").string().map(Instant::parse).orElse(Instant.EPOCH),
                one.at("kind").string().orElse("?"),
                one.at("subject").string().orElse(""),
                one.at("facts")));
      }
    } catch (AgentException.InvalidSpec | NumberFormatException | DateTimeParseException _) {
      return List.of();
    }
    return events;
  }

  /** The number of the first event under a key. */
  static long first(String key) {
    return Long.parseLong(key.substring(StoreKeys.EVENTS.length())) * PER_CHANGE;
  }

  /** How the events of one transaction are written. */
  static String text(List<Happened> events) {
    return JsonText.print(
        new Json.Arr(
            events.stream()
                .<Json>map(
                    one ->
                        Json.object()
                            .put("time", one.time())
                            .put("kind", one.kind())
                            .put("subject", one.subject())
                            .put("facts", one.facts())
                            .build())
                .toList()));
  }

  /** One that has no number yet. */
  static Happened now(Instant time, String kind, String subject, Json facts) {
    return new Happened(0, time, kind, subject, facts);
  }

  /** Whether it is about a deployment. */
  public static boolean about(Happened event, Optional<String> deployment) {
    return deployment
        .map(name -> event.facts().at("deployment").string().filter(name::equals).isPresent())
        .orElse(true);
  }
}
