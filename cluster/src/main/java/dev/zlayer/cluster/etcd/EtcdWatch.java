package dev.zlayer.cluster.etcd;

import dev.zlayer.cluster.etcd.EtcdClient.Refused;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Event;
import dev.zlayer.cluster.store.ClusterStore.News;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A stream of changes from one member. When it ends or is silent for long, it is opened again after
 * the last change that was seen: a connection that is silent cannot be told from one that is lost.
 */
final class EtcdWatch implements ClusterStore.Watch {
  private static final Duration SILENCE = Duration.ofSeconds(30);
  private static final Duration OPEN_LIMIT = Duration.ofSeconds(5);
  private static final Duration PAUSE = Duration.ofMillis(100);

  /** Of reasons why a member ends a watch. */
  private static final List<String> USERS =
      List.of("permission denied", "auth token", "user name is empty", "auth: ");

  private final EtcdClient client;
  private final String prefix;
  private long from;
  private @Nullable Lines lines;
  private @Nullable CompletableFuture<?> stream;
  private Deadline silence = Deadline.after(SILENCE);
  private volatile boolean closed;

  EtcdWatch(EtcdClient client, String prefix, long from) {
    this.client = client;
    this.prefix = prefix;
    this.from = from;
  }

  @Override
  public News next(Duration most) throws InterruptedException {
    Deadline deadline = Deadline.after(most);
    while (!closed) {
      Lines open = opened(deadline);
      if (open == null) {
        return new News.Events(List.of());
      }
      Optional<String> line = open.poll(deadline.atMost(silence.left()));
      if (line.isEmpty()) {
        if (open.ended() || silence.passed()) {
          again();
        }
        if (deadline.passed()) {
          return new News.Events(List.of());
        }
        continue;
      }
      silence = Deadline.after(SILENCE);
      Optional<News> news = read(line.get());
      if (news.isPresent()) {
        return news.get();
      }
    }
    throw new AgentException.Unavailable("the watch was closed");
  }

  /** Null when no member let us in until the deadline. */
  private @Nullable Lines opened(Deadline deadline) throws InterruptedException {
    while (lines == null && !closed) {
      var made = new Lines();
      Json create = EtcdStore.range(prefix).put("start_revision", Long.toString(from)).build();
      try {
        stream =
            client.lines(
                "/v3/watch",
                Json.object().put("create_request", create).build(),
                made,
                deadline.atMost(OPEN_LIMIT));
        lines = made;
        silence = Deadline.after(SILENCE);
      } catch (IOException | TimeoutException | Refused _) {
        client.next();
        if (deadline.passed()) {
          return null;
        }
        Pauses.REAL.pause(PAUSE);
      }
    }
    return lines;
  }

  /** Leaves the stream, for one from another member. */
  private void again() throws InterruptedException {
    cancel();
    client.next();
    Pauses.REAL.pause(PAUSE);
  }

  private void cancel() {
    if (lines != null) {
      lines.cancel();
      lines = null;
    }
    if (stream != null) {
      stream.cancel(true);
      stream = null;
    }
  }

  private Optional<News> read(String line) throws InterruptedException {
    Json result;
    try {
      result = JsonText.parse(line).at("result");
    } catch (AgentException.InvalidSpec _) {
      again();
      return Optional.empty();
    }
    if (EtcdStore.number(result.at("compact_revision")) > 0) {
      cancel();
      return Optional.of(new News.Compacted());
    }
    if (result.isNull() || result.at("canceled").bool().orElse(false)) {
      if (USERS.stream().anyMatch(line::contains)) {
        client.forgetToken(); // it may have ended, which this says in the same words
      }
      again();
      return Optional.empty();
    }
    var events = new ArrayList<Event>();
    for (Json event : result.at("events").items()) {
      Event one = event(event);
      from = Math.max(from, revision(one) + 1);
      events.add(one);
    }
    return events.isEmpty() ? Optional.empty() : Optional.of(new News.Events(events));
  }

  private static Event event(Json event) {
    Json kv = event.at("kv");
    return event.at("type").string().orElse("PUT").equals("DELETE")
        ? new Event.Removed(EtcdStore.decode(kv.at("key")), EtcdStore.number(kv.at("mod_revision")))
        : new Event.Set(EtcdStore.entry(kv));
  }

  private static long revision(Event event) {
    return switch (event) {
      case Event.Set(var entry) -> entry.modified();
      case Event.Removed(_, long revision) -> revision;
    };
  }

  @Override
  public void close() {
    closed = true;
    cancel();
  }

  /** Lines as they arrive, one at a time, so that a slow reader holds up the member. */
  static final class Lines implements Flow.Subscriber<String> {
    private final LinkedBlockingQueue<Optional<String>> arrived = new LinkedBlockingQueue<>();
    private volatile Flow.@Nullable Subscription subscription;
    private volatile boolean ended;

    /** The next line; empty at the end of the lines or the time. */
    Optional<String> poll(Deadline deadline) throws InterruptedException {
      Optional<String> line =
          ended && arrived.isEmpty()
              ? Optional.empty()
              : arrived.poll(deadline.leftNanos(), TimeUnit.NANOSECONDS);
      Flow.Subscription source = subscription;
      if (line == null) {
        return Optional.empty();
      }
      if (line.isPresent() && source != null) {
        source.request(1);
      }
      return line;
    }

    boolean ended() {
      return ended && arrived.isEmpty();
    }

    void cancel() {
      Flow.Subscription source = subscription;
      if (source != null) {
        source.cancel();
      }
    }

    @Override
    public void onSubscribe(Flow.Subscription source) {
      subscription = source;
      source.request(1);
    }

    @Override
    public void onNext(String line) {
      arrived.add(Optional.of(line));
    }

    @Override
    public void onError(Throwable failure) {
      onComplete();
    }

    @Override
    public void onComplete() {
      ended = true;
      arrived.add(Optional.empty());
    }
  }
}
