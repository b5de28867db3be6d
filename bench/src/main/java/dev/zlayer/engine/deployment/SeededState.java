package dev.zlayer.engine.deployment;

import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.SqliteStateStore;
import dev.zlayer.engine.state.StoreConfig;
import dev.zlayer.json.Json;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** The state of an agent that has been in use for years, written at once. */
public final class SeededState {
  private static final Instant BEGIN = Instant.parse("2026-01-01T00:00:00Z");
  private static final int BATCH = 5_000;

  private final SqliteStateStore store;
  private final List<Change.Write> writes = new ArrayList<>();

  private SeededState(SqliteStateStore store) {
    this.store = store;
  }

  /**
   * Makes the file.
   *
   * @param image what services and jobs are made from
   */
  public static void write(Path file, String image, int deployments, int revisions, int events) {
    try (var store =
        SqliteStateStore.open(file, StoreConfig.DEFAULT.withEvents(Math.max(1_000, events)))) {
      var state = new SeededState(store);
      for (int number = 0; number < deployments; number++) {
        state.deployment("d%05d".formatted(number), image, revisions);
      }
      state.flush();
      for (int number = 0; number < events; number += BATCH) {
        state.events(number, Math.min(events, number + BATCH), Math.max(1, deployments));
      }
    }
  }

  private void deployment(String name, String image, int revisions) {
    DeploymentRecord record = DeploymentRecord.fresh(name, BEGIN);
    for (int number = 1; number <= revisions; number++) {
      var revision =
          new Revision(
              name,
              number,
              BEGIN.plusSeconds(number),
              "up",
              Path.of("/srv", name),
              file(name, image, number));
      record = record.with(revision);
      writes.add(
          new Change.Put(
              DeploymentRecord.REVISIONS,
              DeploymentRecord.revisionKey(name, number),
              DeploymentRecord.write(revision)));
    }
    writes.add(new Change.Put(DeploymentRecord.KIND, name, record.write()));
    if (writes.size() >= BATCH) {
      flush();
    }
  }

  private void flush() {
    long _ = store.commit(new Change(writes, List.of()));
    writes.clear();
  }

  /** A service of which no replica is wanted, so that no container is needed, and a job. */
  private static String file(String name, String image, int revision) {
    return """
    version: v1
    deployment: %1$s
    services:
      web:
        image: {name: "%2$s", pull_policy: never}
        scale: {mode: fixed, replicas: 0}
        command: {args: [/bin/sleep, "3600"]}
        env: {REVISION: "%3$d", LOG_LEVEL: info, DATABASE: "postgres://db:5432/%1$s"}
        labels: {team: platform, tier: web}
      report:
        rtype: job
        image: {name: "%2$s", pull_policy: never}
        command: {args: [/bin/echo, "report %3$d"]}
        env: {REVISION: "%3$d"}
    """
        .formatted(name, image, revision);
  }

  private void events(int from, int to, int deployments) {
    List<Event> events = new ArrayList<>();
    for (int number = from; number < to; number++) {
      events.add(
          new Event(
              BEGIN.plusSeconds(number),
              "replica.started",
              "d%05d/web/1@%d".formatted(number % deployments, number),
              Json.object().put("revision", number % 20 + 1).build()));
    }
    long _ = store.commit(new Change(List.of(), events));
  }
}
