package dev.zlayer.daemon;

import static dev.zlayer.daemon.JobNode.soon;
import static dev.zlayer.daemon.JobNode.time;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The places of a node are shared by all of its jobs; whoever gets none waits where all see it. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class JobLimitsIT {
  @TempDir Path marks;

  @Test
  void jobsWaitForThePlacesOfTheNodeByPriority() throws Exception {
    String file =
        """
        one:
          {IMAGE,
           storage: [{type: bind, source: %s, target: /marks}],
           command: [sh, -c, 'until test -e /marks/go; do sleep 0.1; done']}
        two: {IMAGE, command: [echo, here]}
        """
            .formatted(marks);
    var node = new Node().with("job_concurrency", "1").with("job_queue", "2");
    try (JobNode jobs = JobNode.open(node, file)) {
      String first = jobs.begin("one");
      soon().until(() -> jobs.status(first).equals("running"));
      String later = jobs.begin("two");
      String urgent = jobs.begin("one", "{\"priority\":5}");

      List<Json> queue = jobs.rest().get("/queue").expect(200).json().items();
      assertThat(queue.stream().map(JobLimitsIT::place))
          .containsExactly("0 work/one " + urgent, "1 work/two " + later);
      assertThat(List.of(jobs.status(later), jobs.status(urgent))).containsOnly("pending");
      assertThat(jobs.rest().get("/metrics").text()).containsPattern("zlayer_job_queue 2(\\.0)?\n");
      assertThat(jobs.rest().get("/metrics").text())
          .containsPattern("zlayer_jobs_active 1(\\.0)?\n");
      Json info = jobs.rest().get("/info").expect(200).json();
      assertThat(info.at("jobs_active").integer()).contains(1L);
      assertThat(info.at("jobs_waiting").integer()).contains(2L);

      Json refused = jobs.trigger("two", "{\"priority\":9}").expect(429).json();
      assertThat(refused.at("kind").string()).contains("Busy");
      assertThat(refused.at("detail").string().orElse(""))
          .contains("the queue of this node is full, 2 executions wait")
          .contains("job_queue");
      assertThat(jobs.executions("two")).as("a refused one leaves nothing").containsExactly(later);

      Files.createFile(marks.resolve("go"));
      Json last = jobs.end(later);
      assertThat(last.at("status").string()).contains("completed");
      Json middle = jobs.show(urgent);
      assertThat(middle.at("status").string()).contains("completed");
      assertThat(time(middle, "started"))
          .isAfterOrEqualTo(time(jobs.show(first), "finished"))
          .isBefore(time(last, "started"));
      assertThat(time(last, "started")).isAfterOrEqualTo(time(middle, "finished"));
      assertThat(jobs.rest().get("/queue").expect(200).json().items()).isEmpty();
      jobs.run("two", "completed");
    }
  }

  @Test
  void anExecutorThatShutsDownSaysSo() throws Exception {
    try (JobNode jobs = JobNode.open(new Node(), "one: {IMAGE, command: [echo, here]}")) {
      String ended = jobs.run("one", "completed");
      jobs.closeExecutor();
      Json refused = jobs.trigger("one", "{}").expect(503).json();
      assertThat(refused.at("kind").string()).contains("Unavailable");
      assertThat(refused.at("detail").string().orElse("")).contains("shutting down");
      assertThat(jobs.show(ended).at("status").string()).as("still shown").contains("completed");
      jobs.restart();
      jobs.run("one", "completed");
    }
  }

  private static String place(Json waiting) {
    Json execution = waiting.at("execution");
    return "%d %s %s"
        .formatted(
            waiting.at("position").integer().orElseThrow(),
            execution.at("job").string().orElseThrow(),
            execution.at("id").string().orElseThrow());
  }
}
