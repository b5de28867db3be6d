package dev.zlayer.runtime.docker;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.port.LogReader;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;

/**
 * Reads output on the caller's thread, straight from the engine. The engine counts the last lines
 * before it looks at streams and times; where that differs from the query, they are counted here.
 */
final class DockerLogReader implements LogReader {
  private final HttpResponse response;
  private final LogEntries entries;
  private final LogQuery query;
  private final Deque<LogRecord> ready;
  private final Optional<Instant> after;
  private volatile boolean closed;

  private DockerLogReader(
      HttpResponse response,
      boolean terminal,
      LogQuery query,
      Deque<LogRecord> ready,
      Optional<Instant> after) {
    this.response = response;
    this.entries = LogEntries.of(response.body(), terminal);
    this.query = query;
    this.ready = ready;
    this.after = after;
  }

  /** Throws {@link AgentException.NotFound} when there is no such container. */
  static DockerLogReader open(DockerApi api, String container, boolean terminal, LogQuery query)
      throws InterruptedException {
    boolean engineCounts =
        query.stdout() && query.stderr() && query.since().isEmpty() && query.until().isEmpty();
    if (query.tail().isEmpty() || query.tail().getAsInt() == 0 || engineCounts) {
      return new DockerLogReader(
          response(api, container, query, true),
          terminal,
          query,
          new ArrayDeque<>(),
          Optional.empty());
    }
    return counted(api, container, terminal, query);
  }

  private static DockerLogReader counted(
      DockerApi api, String container, boolean terminal, LogQuery query)
      throws InterruptedException {
    var past =
        new LogQuery(
            java.util.OptionalInt.empty(),
            query.since(),
            query.until(),
            query.stdout(),
            query.stderr(),
            false);
    Deque<LogRecord> last = new ArrayDeque<>();
    try (var reader = open(api, container, terminal, past)) {
      for (var line = reader.next(); line.isPresent(); line = reader.next()) {
        last.addLast(line.get());
        if (last.size() > query.tail().getAsInt()) {
          last.removeFirst();
        }
      }
    }
    Optional<Instant> until = Optional.ofNullable(last.peekLast()).map(LogRecord::time);
    LogQuery rest = until.map(query::withSince).orElse(query);
    // without following nothing is left to read but what is known already
    return new DockerLogReader(
        response(api, container, rest, query.follow() && until.isEmpty()),
        terminal,
        rest,
        last,
        query.follow() ? until : Optional.of(Instant.MAX));
  }

  private static HttpResponse response(
      DockerApi api, String container, LogQuery query, boolean withTail)
      throws InterruptedException {
    var target =
        new StringBuilder("/containers/" + container + "/logs?timestamps=1")
            .append("&stdout=" + query.stdout())
            .append("&stderr=" + query.stderr())
            .append("&follow=" + query.follow());
    if (withTail) {
      query.tail().ifPresent(tail -> target.append("&tail=").append(tail));
    }
    query.since().ifPresent(time -> target.append("&since=").append(seconds(time)));
    query.until().ifPresent(time -> target.append("&until=").append(seconds(time)));
    HttpResponse response = api.open(HttpRequest.get(target.toString()), Deadline.none());
    if (!response.success()) {
      throw DockerApi.read(response).refusal("container " + container);
    }
    return response;
  }

  private static String seconds(Instant time) {
    return "%d.%09d".formatted(time.getEpochSecond(), time.getNano());
  }

  @Override
  public Optional<LogRecord> next() throws InterruptedException {
    if (!ready.isEmpty()) {
      return Optional.of(ready.removeFirst());
    }
    try {
      while (!closed) {
        Optional<LogRecord> line = entries.next();
        if (line.isEmpty() || wanted(line.get())) {
          return line;
        }
      }
      return Optional.empty();
    } catch (IOException e) {
      if (closed) {
        return Optional.empty();
      }
      if (Thread.interrupted()) {
        throw new InterruptedException("reading output was interrupted");
      }
      throw new AgentException.Network("the engine broke off: " + e.getMessage(), e);
    }
  }

  private boolean wanted(LogRecord line) {
    return query.wants(line) && after.map(time -> line.time().isAfter(time)).orElse(true);
  }

  @Override
  public void close() {
    closed = true;
    response.close();
  }
}
