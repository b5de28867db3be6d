package dev.zlayer.testkit.fake;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.port.LogReader;
import dev.zlayer.task.Deadline;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/** Walks the output of a container; made and used under the world's lock. */
final class FakeLogReader implements LogReader {
  private final FakeState state;
  private final LogQuery query;
  private int position;
  private final int end;
  private boolean closed;

  FakeLogReader(FakeState state, LogQuery query) {
    this.state = state;
    this.query = query;
    List<LogRecord> log = state.log();
    int[] wanted = IntStream.range(0, log.size()).filter(i -> query.wants(log.get(i))).toArray();
    int tail = Math.min(wanted.length, query.tail().orElse(Integer.MAX_VALUE));
    this.position = tail == 0 ? log.size() : wanted[wanted.length - tail];
    this.end = query.follow() ? Integer.MAX_VALUE : log.size();
  }

  @Override
  public Optional<LogRecord> next() throws InterruptedException {
    FakeWorld world = state.world();
    try (var _ = world.lock()) {
      world.await(
          () -> skip() || ended(),
          Deadline.none(),
          query.until(),
          "reading the log of " + state.id());
      return closed || !skip() ? Optional.empty() : Optional.of(state.log().get(position++));
    }
  }

  /** Goes to the next wanted record, if there is one. */
  private boolean skip() {
    int limit = Math.min(end, state.log().size());
    while (position < limit && !query.wants(state.log().get(position))) {
      position++;
    }
    return position < limit;
  }

  private boolean ended() {
    return closed
        || !query.follow()
        || !state.status().alive()
        || query.until().map(until -> state.world().now().isAfter(until)).orElse(false);
  }

  @Override
  public void close() {
    try (var _ = state.world().lock()) {
      closed = true;
      state.world().changed();
    }
  }
}
