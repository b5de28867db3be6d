package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.SqliteStateStore;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.engine.state.StoreConfig;
import dev.zlayer.json.Json;
import dev.zlayer.task.Supervisor;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** Files that an earlier program took and this one refuses do not harm the agent. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class StoredMistakesIT {
  private static final String REVISIONS = "deployment.revision";
  private static final String FILE =
      """
      version: v1
      deployment: bad
      services:
        late:
          {rtype: job, image: {name: IMAGE, pull_policy: never}, network_mode: none,
           command: [echo, here], job: {deadline: 1h}}
        often:
          {rtype: cron, schedule: "@every 1h", image: {name: IMAGE, pull_policy: never},
           network_mode: none, command: [echo, here], cron: {jitter: 2h}}
        web:
          {image: {name: IMAGE, pull_policy: never}, network_mode: none, command: [sleep, "1000"],
           stop_signal: SIGKILL, health: {check: {type: http, url: "http://localhost:8080/?q=ab"}}}
      """
          .replace("IMAGE", Node.IMAGE);

  @Test
  void theyAreShownAndEverythingElseWorks() throws Exception {
    try (JobNode jobs = JobNode.open(new Node(), "one: {IMAGE, command: [echo, here]}")) {
      jobs.rest().put("/deployments/bad", FILE.getBytes(StandardCharsets.UTF_8)).expect(202);
      jobs.restart(() -> spoil(jobs.node));

      Json bad = jobs.rest().get("/deployments/bad").expect(200).json();
      assertThat(bad.at("problem").at("message").string().orElse(""))
          .contains("2000000000y")
          .contains("300y")
          .contains("q=a|b");
      jobs.run("one", "completed");
      assertThat(jobs.rest().get("/health/ready").status()).isEqualTo(200);
      Json end = jobs.rest().delete("/deployments/bad?wait=30s").expect(200).json();
      assertThat(end.at("outcome").string()).contains("removed");
    }
  }

  /** As a program without these checks would have stored it. */
  private static void spoil(Node node) {
    var file = node.configured().config().directories().stateFile();
    try (StateStore store = SqliteStateStore.open(file, StoreConfig.DEFAULT, new Supervisor())) {
      for (StateStore.Entry entry : store.list(REVISIONS, "bad/")) {
        String text =
            new String(entry.value(), StandardCharsets.UTF_8)
                .replace("deadline: 1h", "deadline: 2000000000y")
                .replace("jitter: 2h", "jitter: 300y")
                .replace("q=ab", "q=a|b");
        byte[] spoilt = text.getBytes(StandardCharsets.UTF_8);
        store.commit(Change.of(new Change.Put(REVISIONS, entry.key(), spoilt)));
      }
    }
  }
}
