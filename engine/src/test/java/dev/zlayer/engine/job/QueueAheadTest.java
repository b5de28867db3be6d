package dev.zlayer.engine.job;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Whose containers are made while others run, and whose never are. */
class QueueAheadTest {
  private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");

  private final Map<JobKey, JobDefinition> jobs = new HashMap<>();
  private final Set<ExecutionId> ended = new HashSet<>();
  private int ids;

  @BeforeEach
  void define() {
    define("one: {rtype: job, image: app:1}\ntwo: {rtype: job, image: app:1}");
  }

  private void define(String services) {
    Jobs.parse(services).forEach(job -> jobs.put(job.key(), job));
  }

  private Execution waiting(String job, Overrides overrides, List<ExecutionId> needs) {
    return Execution.pending(
        new ExecutionId("%04d".formatted(ids++)),
        ids,
        Jobs.key(job),
        new Trigger.Cli(),
        overrides,
        0,
        needs,
        List.of(),
        NOW);
  }

  private Execution waiting(String job) {
    return waiting(job, Overrides.NONE, List.of());
  }

  private QueueAhead of(List<Execution> waiting, Execution... active) {
    return QueueAhead.of(
        waiting, List.of(active), job -> Optional.ofNullable(jobs.get(job)), ended::contains, NOW);
  }

  private static WarmTarget usual(String job) {
    return WarmTarget.usual(Jobs.key(job));
  }

  @Test
  void theFirstOfEachJobWithItsOwnVariables() {
    Execution first = waiting("one", Jobs.behaving(Map.of("exit", "3")), List.of());
    Execution second = waiting("two");
    assertThat(of(List.of(first, waiting("one"), second, waiting("two"))).next())
        .isEqualTo(
            Map.of(
                new WarmTarget(Jobs.key("one"), first.overrides()),
                first.id(),
                usual("two"),
                second.id()));
  }

  @Test
  void oneThatHasItsPlaceKeepsWhatWasMadeForIt() {
    Execution starting = waiting("one").started(NOW, Optional.empty());
    Execution running =
        waiting("two").started(NOW, Optional.empty()).running(Optional.empty(), NOW);
    QueueAhead queue = of(List.of(), starting, running);
    assertThat(queue.next()).isEmpty();
    assertThat(queue.starting()).containsExactly(usual("one"));
  }

  @Test
  void notOneThatPausesOrMayNeverBegin() {
    Execution needed = waiting("two");
    Execution pausing = waiting("one").again(NOW.plusSeconds(1));
    Execution needing = waiting("one", Overrides.NONE, List.of(needed.id()));
    Execution cancelled = waiting("one").cancelling();
    assertThat(of(List.of(pausing, needing, cancelled)).next()).isEmpty();
    ended.add(needed.id());
    assertThat(of(List.of(pausing, needing)).next()).containsValue(needing.id());
    Execution again = waiting("one").again(NOW);
    assertThat(of(List.of(again)).next()).containsValue(again.id());
  }

  @Test
  void onlyWhereItMakesNoDifferenceWhenTheContainerIsMade() {
    List<String> different =
        List.of(
            "storage: [{type: named, name: data, target: /data}]",
            "storage: [{type: bind, source: /srv, target: /data}]",
            "storage: [{type: s3, bucket: files, target: /data}]",
            "image: {name: 'app:1', pull_policy: newer}",
            "image: {name: 'app:1', pull_policy: always}",
            "privileged: true",
            "devices: [{path: /dev/fuse}]",
            "security_opt: ['seccomp=/etc/profile.json']",
            "resources: {gpu: {count: 1}}",
            "network_mode: container:db",
            "init: {steps: [{id: wait, uses: init.wait_tcp, with: {host: db, port: 1}}]}");
    for (String key : different) {
      String image = key.startsWith("image") ? "" : "image: app:1, ";
      define("odd: {rtype: job, %s%s}".formatted(image, key));
      assertThat(of(List.of(waiting("odd"))).next()).as(key).isEmpty();
    }
    List<String> same =
        List.of(
            "storage: [{type: anonymous, target: /data}, {type: tmpfs, target: /tmp}]",
            "security_opt: ['no-new-privileges']",
            "job: {warm: 1}, storage: [{type: bind, source: /srv, target: /data}]");
    for (String key : same) {
      define("odd: {rtype: job, image: app:1, %s}".formatted(key));
      assertThat(of(List.of(waiting("odd"))).next()).as(key).hasSize(1);
    }
    define("odd: {rtype: cron, schedule: '@hourly', image: app:1, cron: {overlap: forbid}}");
    jobs.computeIfPresent(Jobs.key("odd"), (_, job) -> job.shared());
    assertThat(of(List.of(waiting("odd"))).next()).as("another node may have it").isEmpty();
    jobs.clear();
    assertThat(of(List.of(waiting("odd"), waiting("one"))).next()).as("removed").isEmpty();
  }

  @Test
  void forSoManyJobsOfANodeAndNobodyFurtherBack() {
    var waiting = new ArrayList<Execution>();
    for (int i = 0; i < QueueAhead.MOST_JOBS + 5; i++) {
      define("job%d: {rtype: job, image: app:1}".formatted(i));
      waiting.add(waiting("job" + i));
    }
    assertThat(of(waiting).next()).hasSize(QueueAhead.MOST_JOBS).doesNotContainKey(usual("job16"));
    waiting.clear();
    for (int i = 0; i < QueueAhead.MOST_READ; i++) {
      waiting.add(waiting("one").again(NOW.plus(Duration.ofHours(1))));
    }
    waiting.add(waiting("two"));
    assertThat(of(waiting).next()).isEmpty();
  }
}
