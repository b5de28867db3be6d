package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Registers, lists, triggers and unregisters jobs without a deployment over REST. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class SingleJobsIT {
  private static JobNode jobs;

  @BeforeAll
  static void open() throws Exception {
    jobs = JobNode.open(new Node(), "same: {IMAGE, command: [echo, of work]}");
  }

  @AfterAll
  static void close() throws Exception {
    if (jobs != null) {
      jobs.close();
    }
  }

  private static byte[] file(String script) {
    return """
    image: {name: "%s", pull_policy: never}
    network_mode: none
    command: [sh, -c, '%s']
    """
        .formatted(Node.IMAGE, script)
        .getBytes(StandardCharsets.UTF_8);
  }

  private static Json run(String job) throws InterruptedException {
    Rest.Reply begun = jobs.rest().post("/jobs/-/" + job + "/executions", "{}").expect(201);
    return jobs.end(begun.json().at("id").string().orElseThrow());
  }

  private static List<String> registered() throws InterruptedException {
    return jobs.rest().get("/jobs?deployment=-").expect(200).json().items().stream()
        .map(job -> job.at("job").string().orElse(""))
        .toList();
  }

  private static long events() throws InterruptedException {
    return jobs.rest().get("/events?limit=1000").expect(200).json().at("events").items().stream()
        .filter(event -> event.at("kind").string().orElse("").equals("job.registered"))
        .count();
  }

  @Test
  void aJobIsRegisteredRunAndUnregistered() throws Exception {
    Json made = jobs.rest().put("/jobs/-/same", file("echo alone; exit 3")).expect(201).json();
    assertThat(made.at("job").string()).contains("same");
    assertThat(made.at("deployment").string()).contains("-");
    long events = events();
    jobs.rest().put("/jobs/-/same", file("echo alone; exit 3")).expect(200);
    assertThat(events()).as("the same once more changes nothing").isEqualTo(events);
    assertThat(registered()).containsExactly("same");

    Json end = run("same");
    assertThat(end.at("code").integer()).contains(3L);
    assertThat(end.at("job").string()).contains("same");
    assertThat(jobs.run("same", "completed")).as("the one of the deployment").isNotEmpty();
    assertThat(jobs.rest().get("/executions?job=same").json().items()).hasSize(1);
    assertThat(jobs.executions("same")).hasSize(1);

    jobs.restart();
    assertThat(registered()).containsExactly("same");
    assertThat(run("same").at("code").integer()).contains(3L);

    jobs.rest().delete("/jobs/-/same").expect(204);
    jobs.rest().delete("/jobs/-/same").expect(404);
    jobs.rest().get("/jobs/-/same").expect(404);
    jobs.rest().post("/jobs/-/same/executions", "{}").expect(404);
    jobs.rest().get("/jobs/work/same").expect(200);
    assertThat(jobs.rest().get("/executions?job=same").json().items()).hasSize(2);
  }

  @Test
  void whatCannotBeRunIsNotRegistered() throws Exception {
    Rest.Reply bad = jobs.rest().put("/jobs/-/odd", file("true"));
    assertThat(bad.status()).isEqualTo(201);
    byte[] unknown =
        "image: {name: x}\nhealth: {check: {type: tcp, port: 1}}\nodd: 1\n"
            .getBytes(StandardCharsets.UTF_8);
    Rest.Reply refused = jobs.rest().put("/jobs/-/bad", unknown).expect(422);
    assertThat(refused.text()).contains("bad.yml:3:1: odd: unknown key");
    jobs.rest().put("/jobs/-/a%20b", file("x")).expect(422);
    jobs.rest().put("/jobs/work/bad", file("x")).expect(405);
    assertThat(registered()).doesNotContain("bad");
    jobs.rest().delete("/jobs/-/odd").expect(204);
  }
}
