package dev.zlayer.bench.work;

import dev.zlayer.bench.Options;
import dev.zlayer.bench.Report;
import dev.zlayer.bench.Samples;
import dev.zlayer.engine.deployment.SeededState;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.EventPage;
import dev.zlayer.engine.state.SqliteStateStore;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.engine.state.StoreConfig;
import dev.zlayer.json.Json;
import dev.zlayer.task.TaskScope;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/** How long a commit takes, alone and beside clients that page through all events. */
public final class CommitsWork implements Work {
  private static final int CLIENTS = 8;
  private static final int PAGE = 1_000;
  private static final double MOST = 10;

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    Options options = arena.options();
    int events = options.size("events", 100_000, 20_000);
    int commits = options.size(1_000, 200);
    Path file = arena.home("commits").resolve("state.db");
    SeededState.write(file, "busybox", 0, 0, events);
    StoreConfig config = StoreConfig.DEFAULT.withEvents(Math.max(1_000, 2 * events));
    try (var store = SqliteStateStore.open(file, config)) {
      Samples _ = commit(store, commits); // warms it
      Samples alone = commit(store, commits);
      var ended = new AtomicBoolean();
      var pages = new AtomicLong();
      Samples beside;
      try (var scope = new TaskScope("clients")) {
        for (int client = 0; client < CLIENTS; client++) {
          scope.fork(
              () -> {
                page(store, ended, pages);
                return true;
              });
        }
        try {
          beside = commit(store, commits);
        } finally {
          ended.set(true);
        }
        scope.join();
      }
      return List.of(table(options, events, alone, beside, pages.get()));
    }
  }

  private static Report.Table table(
      Options options, int events, Samples alone, Samples beside, long pages) {
    double ratio = beside.median() / alone.median();
    boolean fine = ratio <= MOST || options.effort() == Options.Effort.SMOKE;
    return new Report.Table(
        "a commit, %d events kept".formatted(events),
        "ms",
        "alone",
        List.of(
            row("alone", alone, ""),
            row(
                "beside %d that page events".formatted(CLIENTS),
                beside,
                "%s the bar of %.0f times alone; %d pages of %d were read; "
                    .formatted(fine ? "meets" : Report.MISSED, MOST, pages, PAGE))));
  }

  private static Report.Row row(String name, Samples samples, String note) {
    return new Report.Row(
        name, samples, OptionalDouble.empty(), note + "p99 %.2f ms".formatted(samples.p99()));
  }

  private static Samples commit(StateStore store, int commits) {
    var values = new ArrayList<Double>();
    for (int number = 0; number < commits; number++) {
      byte[] value = ("value " + number).getBytes(StandardCharsets.UTF_8);
      var event = new Event(Instant.EPOCH, "bench.commit", "bench", Json.object().build());
      var change =
          new Change(List.of(new Change.Put("bench", "key" + number, value)), List.of(event));
      long start = System.nanoTime();
      long _ = store.commit(change);
      values.add((System.nanoTime() - start) / 1e6);
    }
    return new Samples(values);
  }

  /** From the first to the last, and again. */
  private static void page(StateStore store, AtomicBoolean ended, AtomicLong pages) {
    long since = 0;
    while (!ended.get()) {
      EventPage page = store.events(since, PAGE);
      since = page.events().size() < PAGE ? 0 : page.last();
      pages.incrementAndGet();
    }
  }
}
