package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The output of many jobs that end at once goes through the heap of a shipped daemon. */
@Timeout(240)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class JobOutputIT {
  private static final int JOBS = 64;
  private static final int BYTES = 10 << 20;

  @Test
  void theOutputOfManyLargeJobsIsKeptWhole() throws Exception {
    try (Node node = new Node().with("network_pool", "0").with("job_concurrency", "" + JOBS);
        ChildDaemon child = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      String file =
          """
          version: v1
          deployment: work
          services:
            print:
              rtype: job
              image: {name: "%s", pull_policy: never}
              network_mode: none
              command: [sh, -c, "head -c %d /dev/zero | tr '\\\\0' x; printf end >&2"]
              job: {concurrency: %d, max_log_size: 11Mi}
          """
              .formatted(Node.IMAGE, BYTES, JOBS);
      Rest.Reply up = rest.put("/deployments/work", file.getBytes(StandardCharsets.UTF_8));
      assertThat(up.status()).as(up.text()).isIn(200, 202);
      List<String> ids = new ArrayList<>();
      for (int i = 0; i < JOBS; i++) {
        ids.add(
            rest.post("/jobs/work/print/executions", "{}")
                .expect(201)
                .json()
                .at("id")
                .string()
                .orElseThrow());
      }
      for (String id : ids) {
        Awaitility.await()
            .atMost(Duration.ofSeconds(180))
            .pollInterval(Duration.ofMillis(100))
            .until(() -> ended(rest, id));
        Json execution = rest.get("/executions/" + id).json();
        assertThat(execution.at("status").string()).as(execution.toString()).contains("completed");
      }
      byte[] expected = new byte[BYTES];
      Arrays.fill(expected, (byte) 'x');
      for (String id : List.of(ids.getFirst(), ids.get(JOBS / 2), ids.getLast())) {
        String logs = "/executions/" + id + "/logs?format=raw";
        assertThat(Arrays.equals(rest.bytes(logs + "&stderr=false"), expected)).isTrue();
        assertThat(rest.bytes(logs + "&stdout=false")).isEqualTo("end".getBytes());
      }
      assertThat(child.pid()).as("it is still the same daemon").isPositive();
    }
  }

  private static boolean ended(Rest rest, String id) throws InterruptedException {
    return !List.of("pending", "initializing", "running")
        .contains(rest.get("/executions/" + id).json().at("status").string().orElse(""));
  }
}
