package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Commands on the machine itself run only where its operator allows them. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class HostCommandsIT {
  @TempDir Path host;

  private String jobs() {
    return """
    good:
      {IMAGE, command: [echo, main], job: {retries: 3},
       init: {steps: [{id: ask, uses: init.host_run, on_failure: continue,
         with: {command: "touch %1$s/touched; echo said; echo warned >&2"}}]}}
    bad:
      {IMAGE, command: [echo, main],
       init: {steps: [{id: ask, uses: init.host_run, with: {command: "echo why; exit 7"}}]}}
    leaving:
      {IMAGE, command: [echo, main],
       init: {steps: [{id: ask, uses: init.host_run,
         with: {command: "sleep 600 & echo $! >%1$s/left; echo said; exit 3", timeout: 30s}}]}}
    slow:
      {IMAGE, command: [echo, main],
       init: {steps: [{id: ask, uses: init.host_run,
         with: {command: "sleep 1000", timeout: 200ms}}]}}
    """
        .formatted(host);
  }

  private static Json step(Json execution) {
    assertThat(execution.at("attempts").items()).as(execution.toString()).hasSize(1);
    Json attempt = execution.at("attempts").items().getFirst();
    assertThat(attempt.at("steps").items()).hasSize(1);
    return attempt.at("steps").items().getFirst();
  }

  @Test
  void theyAreRefusedUnlessAllowed() throws Exception {
    try (JobNode node = JobNode.open(new Node(), jobs())) {
      Json end = node.end(node.begin("bad"));

      assertThat(end.at("status").string()).contains("failed");
      assertThat(end.at("reason").string().orElse(""))
          .contains("init.host_run is off on this node")
          .contains("host_commands: true");
      assertThat(step(end).at("result").string().orElse("")).isNotEqualTo("succeeded");

      Json tolerated = node.end(node.begin("good"));
      assertThat(tolerated.at("status").string()).as("on_failure: continue").contains("completed");
      assertThat(step(tolerated).at("result").string().orElse("")).isNotEqualTo("succeeded");
      assertThat(host).isEmptyDirectory();
    }
  }

  @Test
  void theirOutputIsTheLogOfTheStep() throws Exception {
    try (JobNode node = JobNode.open(new Node().with("host_commands", "true"), jobs())) {
      String id = node.begin("good");
      Json end = node.end(id);
      assertThat(end.at("status").string()).as(end.toString()).contains("completed");
      assertThat(step(end).at("result").string()).contains("succeeded");
      assertThat(step(end).at("log").string()).contains("said\nwarned\n");
      assertThat(host.resolve("touched")).exists();
      assertThat(node.rest().get("/executions/" + id + "/logs?format=raw").text())
          .as("only what the job itself printed")
          .isEqualTo("main\n");

      Json failed = node.end(node.begin("bad"));
      assertThat(failed.at("reason").string().orElse(""))
          .contains("step 'ask': the command ended with exit code 7");
      assertThat(step(failed).at("log").string()).contains("why\n");

      Json leaving = node.end(node.begin("leaving"));
      assertThat(leaving.at("reason").string().orElse(""))
          .as("what it leaves may keep its output")
          .contains("step 'ask': the command ended with exit code 3");
      assertThat(step(leaving).at("log").string()).contains("said\n");
      ProcessHandle.of(Long.parseLong(Files.readString(host.resolve("left")).strip()))
          .orElseThrow()
          .destroyForcibly();

      Json late = node.end(node.begin("slow"));
      assertThat(late.at("reason").string().orElse("")).contains("200ms").contains("step 'ask'");
      assertThat(step(late).at("result").string()).contains("timed_out");
    }
  }
}
