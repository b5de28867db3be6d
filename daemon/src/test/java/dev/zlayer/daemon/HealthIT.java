package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.HotSpotDiagnosticMXBean.ThreadDumpFormat;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whoever asks for the health of an agent hears of everything in it that runs by itself. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class HealthIT {
  private static final String FILE =
      """
      version: v1
      deployment: whole
      services:
        web:
          image: {name: IMAGE, pull_policy: never}
          network_mode: none
          command: [sleep, "1000"]
          stop_grace_period: 0s
        report:
          rtype: job
          image: {name: IMAGE, pull_policy: never}
          network_mode: none
          command: ["true"]
          job: {warm: 1}
        tick:
          rtype: cron
          schedule: "0 0 1 1 *"
          image: {name: IMAGE, pull_policy: never}
          command: ["true"]
      """;

  @TempDir Path directory;

  /** A thread that is in the loop of an owner. */
  private record Running(String thread, String name) {}

  @Test
  void itNamesEveryOwnerThatRuns() throws Exception {
    Set<Running> others = new HashSet<>(running()); // of tests before this one
    try (OpenNode node = OpenNode.open()) {
      Rest rest = node.rest();
      rest.put(
              "/deployments/whole?directory=/",
              FILE.replace("IMAGE", Node.IMAGE).getBytes(StandardCharsets.UTF_8))
          .expect(202);
      String single =
          node.run(
              "single",
              "sleep 1000",
              "restart_policy",
              "{\"kind\": \"always\"}",
              "health",
              "{\"check\": {\"type\": \"command\", \"command\": \"true\"}, \"interval\": \"1s\"}");

      // they begin and end while somebody looks
      Awaitility.await()
          .untilAsserted(
              () ->
                  assertThat(told(rest))
                      .containsExactlyInAnyOrderElementsOf(names(others))
                      .contains("the state store", "the state store's reader", "event meter")
                      .contains("jobs", "jobs made ahead", "schedules", "container index")
                      .contains("service whole/web")
                      .anyMatch(name -> name.startsWith("container ") && name.contains("single"))
                      .anyMatch(name -> name.startsWith("health of ") && name.contains("single")));
      assertThat(rest.get("/health/ready").status()).isEqualTo(200);

      Owner.Opening<Owner.State> opening = (_, _) -> () -> Duration.ofDays(1);
      try (var stray = Owner.of("a stray", TimeSource.monotonic(), new Supervisor(), opening)) {
        stray.start();
        Awaitility.await()
            .untilAsserted(
                () -> assertThat(names(others)).as("this test would see it").contains("a stray"));
        assertThat(told(rest)).doesNotContain("a stray");
      }
      rest.delete("/containers/" + single + "?force=true").expect(204);
      rest.delete("/deployments/whole?wait=60s");
    }
  }

  private static List<String> told(Rest rest) throws InterruptedException {
    return rest.get("/health/ready").json().at("owners").items().stream()
        .map(owner -> owner.at("name").string().orElseThrow())
        .toList();
  }

  private List<String> names(Set<Running> others) throws IOException {
    return running().stream().filter(one -> !others.contains(one)).map(Running::name).toList();
  }

  /** By the stacks of all threads of this process, virtual ones too. */
  private List<Running> running() throws IOException {
    Path dump = directory.resolve("threads.json");
    Files.deleteIfExists(dump);
    ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
        .dumpThreads(dump.toString(), ThreadDumpFormat.JSON);
    var found = new ArrayList<Running>();
    Json all = JsonText.parse(Files.readString(dump)).at("threadDump").at("threadContainers");
    for (Json container : all.items()) {
      for (Json thread : container.at("threads").items()) {
        if (thread.at("stack").strings().stream()
            .anyMatch(frame -> frame.contains(Owner.class.getName() + ".run("))) {
          found.add(
              new Running(
                  JsonText.print(thread.at("tid")), thread.at("name").string().orElseThrow()));
        }
      }
    }
    return found;
  }
}
