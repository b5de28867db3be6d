package dev.zlayer.daemon;

import static dev.zlayer.daemon.JobNode.soon;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Whoever asks for events that are kept no longer is told so, also by the next daemon. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class EventLogIT {
  private static final int KEPT = 1000;

  @Test
  void aReaderWhoWasAwayTooLongIsTold() throws Exception {
    var node = new Node().with("events", Integer.toString(KEPT)).with("job_concurrency", "1");
    try (JobNode jobs =
        JobNode.open(node, "one: {IMAGE, stop_signal: SIGKILL, command: [sleep, '1000']}")) {
      long seen = page(jobs, "since=0").at("next").integer().orElseThrow();
      fill(jobs);
      long oldest = check(jobs, seen);
      jobs.restart();
      assertThat(check(jobs, seen)).as("after a restart").isGreaterThanOrEqualTo(oldest);
    }
  }

  /** One runs, and whatever waits behind it is cancelled: two events each, and no container. */
  private static void fill(JobNode jobs) throws Exception {
    String running = jobs.begin("one");
    soon().until(() -> jobs.status(running).equals("running"));
    for (int i = 0; i < KEPT; i++) {
      jobs.rest().post("/executions/" + jobs.begin("one") + "/cancel").expect(200);
    }
    jobs.rest().post("/executions/" + running + "/cancel").expect(200);
    jobs.end(running);
  }

  private static Json page(JobNode jobs, String query) throws InterruptedException {
    return jobs.rest().get("/events?" + query).expect(200).json();
  }

  private static long number(Json json, String field) {
    return json.at(field).integer().orElseThrow();
  }

  /** Returns the number of the oldest event. */
  private static long check(JobNode jobs, long seen) throws Exception {
    Json late = page(jobs, "since=" + seen);
    long oldest = number(late, "oldest");
    assertThat(late.at("missed").bool()).contains(true);
    assertThat(oldest).isGreaterThan(seen + 1);
    assertThat(number(late.at("events").items().getFirst(), "seq")).isEqualTo(oldest);

    Json all = page(jobs, "since=%d&limit=5000".formatted(oldest - 1));
    assertThat(all.at("missed").bool()).contains(false);
    long newest = number(all, "next");
    assertThat(newest - oldest + 1).isBetween((long) KEPT, KEPT + KEPT / 10L);
    assertThat(all.at("events").items()).hasSize((int) (newest - oldest + 1));

    Json filtered = page(jobs, "kind=job.running&limit=10&since=" + seen);
    assertThat(filtered.at("missed").bool()).contains(true);
    assertThat(filtered.at("events").items()).isEmpty();
    assertThat(number(filtered, "next")).as("all were looked at").isGreaterThanOrEqualTo(newest);

    Json ahead = page(jobs, "follow=true&since=" + (newest + 1000));
    assertThat(ahead.at("missed").bool()).as("a number of another log").contains(true);
    assertThat(number(ahead, "next")).isBetween(newest, newest + 999);

    assertThat(firstTwo(jobs, seen))
        .containsExactly(
            "id: %d".formatted(oldest - 1),
            "event: missed",
            "data: {\"since\":%d,\"oldest\":%d}".formatted(seen, oldest),
            "id: %d".formatted(oldest));
    return oldest;
  }

  /** The first lines of a stream that goes on after that number. */
  private static List<String> firstTwo(JobNode jobs, long since) throws Exception {
    var request =
        HttpRequest.get("/api/v1/events")
            .with("Accept", "text/event-stream")
            .with("Last-Event-ID", Long.toString(since));
    try (HttpResponse response = jobs.rest().open(request);
        var reader =
            new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8))) {
      return reader.lines().filter(line -> !line.isBlank()).limit(4).toList();
    }
  }
}
