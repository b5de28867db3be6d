package dev.zlayer.daemon;

import static dev.zlayer.daemon.JobNode.soon;
import static dev.zlayer.daemon.JobNode.time;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Results of jobs go away as their retention says, and everything of them with them. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class JobRetentionIT {
  private static final String FAILING = "{\"args\":[\"sh\",\"-c\",\"%s exit 1\"]}";
  private static final String LARGE = "head -c 1048576 /dev/zero > /out;";

  private static final Optional<Long> NINE = Optional.of(9L);

  private static JobNode jobs;

  @BeforeAll
  static void open() throws Exception {
    jobs =
        JobNode.open(
            new Node(),
            """
            counted: {IMAGE, command: [echo, here], job: {retention: {count: 3}}}
            weighed:
              {IMAGE, command: [sh, -c, '%s'], job: {artifacts: [/out], retention: {bytes: 3500Ki}}}
            aged: {IMAGE, command: [echo, here], job: {retention: {age: 1s, failed_age: 1h}}}
            lasting: {IMAGE, command: [echo, here], job: {retention: 1h}}
            """
                .formatted(LARGE));
  }

  @AfterAll
  static void close() throws Exception {
    if (jobs != null) {
      jobs.close();
    }
  }

  private static String fail(String job, String script) throws InterruptedException {
    String id = jobs.begin(job, FAILING.formatted(script));
    assertThat(jobs.end(id).at("code").integer()).contains(1L);
    return id;
  }

  private static void assertGone(String id) throws InterruptedException {
    for (String of : List.of("", "/logs", "/artifacts", "/artifacts/out", "/wait")) {
      Rest.Reply reply = jobs.rest().get("/executions/" + id + of).expect(404);
      assertThat(reply.json().at("detail").string().orElse("")).contains(id);
    }
  }

  @Test
  void byCountOlderAndSuccessfulOnesGoFirst() throws Exception {
    String bad = fail("counted", "");
    String first = jobs.run("counted", "completed");
    String second = jobs.run("counted", "completed");
    assertThat(jobs.executions("counted")).containsExactly(second, first, bad);

    String third = jobs.run("counted", "completed");
    soon()
        .untilAsserted(
            () -> assertThat(jobs.executions("counted")).containsExactly(third, second, bad));
    assertGone(first);
    assertThat(jobs.rest().get("/executions/" + bad + "/logs").expect(200).status()).isEqualTo(200);
  }

  @Test
  void byBytesFilesGoWithTheResults() throws Exception {
    String bad = fail("weighed", LARGE);
    String first = jobs.run("weighed", "completed");
    String second = jobs.run("weighed", "completed");
    assertThat(jobs.executions("weighed")).as("three fit").containsExactly(second, first, bad);
    Path artifacts = jobs.node.directory.resolve("artifacts");
    assertThat(artifacts.resolve(first)).isDirectory();

    String third = jobs.run("weighed", "completed");
    soon()
        .untilAsserted(
            () -> assertThat(jobs.executions("weighed")).containsExactly(third, second, bad));
    assertGone(first);
    soon().until(() -> !Files.exists(artifacts.resolve(first)));
    for (String kept : List.of(third, second, bad)) {
      assertThat(jobs.rest().bytes("/executions/" + kept + "/artifacts/out"))
          .hasSizeGreaterThan(1 << 20);
    }
  }

  @Test
  void byAgeFailedOnesStayLonger() throws Exception {
    String bad = fail("aged", "");
    String good = jobs.begin("aged");
    Json end = jobs.end(good);
    assertThat(end.at("status").string()).contains("completed");
    String other = jobs.run("lasting", "completed");
    Instant old = time(end, "finished").plusSeconds(1);
    soon().until(() -> Instant.now().isAfter(old));

    jobs.restart(); // the first look of an agent; it looks again every minute
    soon().untilAsserted(() -> assertThat(jobs.executions("aged")).containsExactly(bad));
    assertGone(good);
    assertThat(jobs.executions("lasting")).containsExactly(other);
  }

  @Test
  void aFailedMigrationIsNotRunAgainWhenItsResultIsGone(@TempDir Path runs) throws Exception {
    String file =
        """
        version: v1
        deployment: gated
        services:
          migrate:
            rtype: job
            image: {name: "%1$s", pull_policy: never}
            network_mode: none
            command: [sh, -c, "echo >> /runs/count; exit 9"]
            storage: [{type: bind, source: %2$s, target: /runs}]
            job: {retention: {age: 1s, failed_age: 1s}}
          web:
            image: {name: "%1$s", pull_policy: never}
            command: [sleep, "1000"]
            depends: [{service: migrate, condition: completed}]
        """
            .formatted(Node.IMAGE, runs);
    apply(file);
    soon().until(() -> migration().at("last_error").at("exit_code").integer().isPresent());
    Instant ended = Instant.now();

    soon().until(() -> Instant.now().isAfter(ended.plusSeconds(1)));
    jobs.restart(); // the first look of an agent drops the result
    soon().until(() -> jobs.rest().get("/executions?job=gated/migrate").json().items().isEmpty());
    jobs.restart(); // and the next one finds no result

    soon().until(() -> migration().at("last_error").at("exit_code").integer().equals(NINE));
    assertThat(Files.readAllLines(runs.resolve("count"))).as("runs").hasSize(1);
    assertThat(jobs.rest().get("/containers?all=true&deployment=gated").json().items()).isEmpty();

    apply(file); // somebody asks for it again
    soon().until(() -> Files.readAllLines(runs.resolve("count")).size() == 2);
    jobs.rest().delete("/deployments/gated?wait=60s");
  }

  private static void apply(String file) throws InterruptedException {
    jobs.rest()
        .put("/deployments/gated?directory=/", file.getBytes(StandardCharsets.UTF_8))
        .expect(202);
  }

  private static Json migration() throws InterruptedException {
    return jobs.rest().get("/deployments/gated").expect(200).json().at("jobs").items().getFirst();
  }
}
