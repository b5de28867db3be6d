package dev.zlayer.daemon.notification;

import dev.zlayer.daemon.config.NotificationConfig;
import dev.zlayer.daemon.config.NotificationTrigger;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.daemon.metrics.Metrics;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.EventPage;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.json.Json;
import dev.zlayer.task.Backoff;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * Sends what happened to one receiver, in the order of the events and each at least once. The queue
 * is the event log itself, so its bound is the log's; what is given up or was dropped from the log
 * is itself an event.
 */
public final class Notifier implements Owner.State {
  private static final String POSITION = "notification.position";
  private static final String DROPPED = "notification.dropped";

  /** So many events may lie behind the durable position; fewer than a log ever holds. */
  private static final int PAGE = 500;

  private static final int MOST_REMEMBERED = 1000;
  private static final Backoff BACKOFF =
      new Backoff(Duration.ofSeconds(1), Duration.ofMinutes(5), 2);

  /** What all receivers of an agent share. */
  public record Context(
      StateStore store, TimeSource time, Supervisor supervisor, Metrics metrics, Log log) {}

  private final NotificationConfig config;
  private final String node;
  private final Context context;
  private final Delivery delivery;
  private final LinkedHashSet<String> failedRollouts = new LinkedHashSet<>();
  private long position;
  private long durable;

  private Notifier(NotificationConfig config, String node, Context context) {
    this.config = config;
    this.node = node;
    this.context = context;
    this.position =
        context
            .store()
            .find(POSITION, config.name())
            .map(bytes -> Long.parseLong(new String(bytes, StandardCharsets.UTF_8)))
            .orElseGet(() -> context.store().commit(new Change(List.of(), List.of())));
    savePosition();
    this.delivery = Delivery.of(config);
  }

  /**
   * One owner for each receiver. A new one hears of what happens from now on; the position of one
   * that is configured no longer is forgotten.
   */
  public static List<Owner<Notifier>> open(
      List<NotificationConfig> all, String node, Context context) throws InterruptedException {
    var names = new HashSet<String>();
    all.forEach(config -> names.add(config.name()));
    for (String known : context.store().keys(POSITION, "")) {
      if (!names.contains(known)) {
        context.store().commit(Change.of(new Change.Delete(POSITION, known)));
      }
    }
    var owners = new ArrayList<Owner<Notifier>>();
    for (NotificationConfig config : all) {
      owners.add(
          Owner.<Notifier>of(
                  "notifier " + config.name(),
                  context.time(),
                  context.supervisor(),
                  (_, _) -> new Notifier(config, node, context))
              .start());
    }
    return owners;
  }

  @Override
  public Duration round() throws InterruptedException {
    EventPage page = context.store().events(position, PAGE);
    if (page.missed()) {
      drop(
          position > page.newest()
              ? "the event log was replaced by an older one"
              : "events %d to %d were dropped from the log"
                  .formatted(position + 1, page.oldest() - 1));
      position = page.from();
      savePosition();
    }
    for (EventPage.Numbered numbered : page.events()) {
      Optional<NotificationTrigger> trigger = trigger(numbered.event());
      if (trigger.isPresent()) {
        deliver(Notification.of(numbered, trigger.get(), node, config.template()), numbered);
        position = numbered.sequence();
        savePosition();
      }
      position = numbered.sequence();
    }
    if (position - durable >= PAGE) {
      savePosition();
    }
    boolean _ = context.store().awaitEvent(position, Deadline.none());
    return Duration.ZERO;
  }

  private Optional<NotificationTrigger> trigger(Event event) {
    return config.on().stream()
        .filter(trigger -> trigger.matches(event))
        .filter(trigger -> trigger != NotificationTrigger.ROLLOUT_FAILED || first(event))
        .findFirst();
  }

  /** A service that tries again and again fails again and again; once is enough to know. */
  private boolean first(Event event) {
    if (failedRollouts.size() >= MOST_REMEMBERED) {
      failedRollouts.removeFirst();
    }
    String revision = event.detail().at("revision").integer().map(String::valueOf).orElse("");
    return failedRollouts.add("%s %s %s".formatted(event.kind(), event.subject(), revision));
  }

  /** Returns when it was delivered, or will never be. */
  private void deliver(Notification notification, EventPage.Numbered numbered)
      throws InterruptedException {
    for (int attempt = 0; ; attempt++) {
      try {
        delivery.send(notification, Deadline.after(config.timeout()));
        count("delivered");
        return;
      } catch (Delivery.Failed e) {
        count("failed");
        Map<String, Object> facts =
            Map.of(
                "name", config.name(),
                "receiver", config.receiver(),
                "event", notification.sequence(),
                "attempt", attempt + 1,
                "reason", String.valueOf(e.getMessage()));
        context.log().warn("a notification was not delivered", facts);
        boolean late =
            Duration.between(numbered.event().at(), context.time().instant())
                    .compareTo(config.retryFor())
                >= 0;
        if (!e.retried || late) {
          drop("event %d: %s".formatted(notification.sequence(), e.getMessage()));
          return;
        }
      }
      Pauses.REAL.pause(BACKOFF.delay(attempt, 0.2, RandomGenerator.getDefault()));
    }
  }

  private void drop(String reason) {
    context
        .store()
        .commit(
            Change.of(
                new Event(
                    context.time().instant(),
                    DROPPED,
                    config.name(),
                    Json.object().put("reason", reason).build())));
    count("dropped");
  }

  private void count(String result) {
    context
        .metrics()
        .count(
            "zlayer_notifications_total",
            "Attempts to notify somebody, by result.",
            Map.of("name", config.name(), "result", result));
  }

  private void savePosition() {
    context
        .store()
        .commit(
            Change.of(
                new Change.Put(
                    POSITION,
                    config.name(),
                    String.valueOf(position).getBytes(StandardCharsets.UTF_8))));
    durable = position;
  }

  @Override
  public void close() {
    delivery.close();
  }
}
