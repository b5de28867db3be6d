package dev.zlayer.engine.job;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.engine.job.WarmPlanner.Entry;
import dev.zlayer.engine.job.WarmPlanner.Limits;
import dev.zlayer.engine.job.WarmPlanner.Plan;
import dev.zlayer.engine.job.WarmPlanner.Reason;
import dev.zlayer.engine.job.WarmPlanner.Removal;
import dev.zlayer.engine.job.WarmPlanner.Shape;
import dev.zlayer.engine.job.WarmPlanner.Stage;
import dev.zlayer.engine.job.WarmPlanner.Wanted;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class WarmPlannerTest {
  private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");
  private static final WarmTarget REPORT = WarmTarget.usual(new JobKey("shop", "report"));
  private static final WarmTarget MAIL = WarmTarget.usual(new JobKey("shop", "mail"));
  private static final Limits LIMITS = new Limits(20, 1000, Duration.ofMinutes(10), 4);
  private static final Shape SHAPE = shape("a", '1');

  private static Shape shape(String secret, char image) {
    return new Shape(
        ContainerSpec.of(ImageRef.parse("app:1"))
            .withProcess(ProcessSpec.DEFAULT.withEnv(Map.of("KEY", secret))),
        Optional.of(Digest.parse("sha256:" + String.valueOf(image).repeat(64))));
  }

  private static Wanted wanted(WarmTarget job, int warm) {
    return new Wanted(job, warm, 0, Optional.of(SHAPE), NOW, Optional.empty(), Set.of());
  }

  private static Entry ready(long number, WarmTarget job, Shape shape) {
    return new Entry(number, job, Stage.READY, Optional.of(shape), 10);
  }

  private static Entry making(long number, WarmTarget job) {
    return new Entry(number, job, Stage.MAKING, Optional.empty(), 0);
  }

  private static Plan plan(List<Wanted> jobs, List<Entry> entries) {
    return WarmPlanner.plan(jobs, entries, 0, LIMITS, NOW);
  }

  @Test
  void fillsUpToWhatIsWantedAndCountsWhatIsBeingMade() {
    assertThat(plan(List.of(wanted(REPORT, 3)), List.of()).make())
        .containsExactly(REPORT, REPORT, REPORT);
    assertThat(
            plan(List.of(wanted(REPORT, 3)), List.of(ready(1, REPORT, SHAPE), making(2, REPORT)))
                .make())
        .containsExactly(REPORT);
    Entry taken = ready(1, REPORT, SHAPE).at(Stage.TAKEN);
    assertThat(plan(List.of(wanted(REPORT, 1)), List.of(taken)).make()).containsExactly(REPORT);
  }

  @Test
  void aJobThatWantsManyDoesNotKeepOthersWaiting() {
    assertThat(plan(List.of(wanted(REPORT, 10), wanted(MAIL, 1)), List.of()).make())
        .hasSize(4)
        .contains(MAIL);
  }

  @Test
  void makesNothingWhileExecutionsAreStarting() {
    Plan plan = WarmPlanner.plan(List.of(wanted(REPORT, 3)), List.of(), 1, LIMITS, NOW);
    assertThat(plan.make()).isEmpty();
  }

  @Test
  void staysWithinTheBoundsOfTheNode() {
    var entries = new ArrayList<Entry>();
    for (int i = 0; i < 19; i++) {
      entries.add(ready(i, MAIL, SHAPE));
    }
    assertThat(plan(List.of(wanted(MAIL, 19), wanted(REPORT, 5)), entries).make())
        .containsExactly(REPORT);
    Entry large = new Entry(1, MAIL, Stage.READY, Optional.of(SHAPE), 1000);
    assertThat(plan(List.of(wanted(MAIL, 1), wanted(REPORT, 5)), List.of(large)).make()).isEmpty();
    assertThat(
            plan(
                    List.of(wanted(REPORT, 9)),
                    List.of(making(1, REPORT), making(2, REPORT), making(3, REPORT)))
                .make())
        .as("four at a time")
        .hasSize(1);
  }

  @Test
  void removesWhatIsNotWhatTheJobWantsNow() {
    List<Entry> entries =
        List.of(
            ready(1, REPORT, shape("old secret", '1')),
            ready(2, REPORT, shape("a", '2')),
            ready(3, REPORT, SHAPE));
    Plan plan = plan(List.of(wanted(REPORT, 3)), entries);
    assertThat(plan.remove())
        .containsExactly(new Removal(1, Reason.CHANGED), new Removal(2, Reason.CHANGED));
    assertThat(plan.make()).containsExactly(REPORT, REPORT);
  }

  @Test
  void nothingFitsWhenTheImageIsGone() {
    var gone = new Shape(SHAPE.spec(), Optional.empty());
    Wanted wanted = wanted(REPORT, 1).with(Optional.of(gone));
    assertThat(plan(List.of(wanted), List.of(ready(1, REPORT, gone))).remove())
        .containsExactly(new Removal(1, Reason.CHANGED));
    assertThat(WarmPlanner.take(List.of(ready(1, REPORT, gone)), REPORT.job(), gone)).isEmpty();
  }

  @Test
  void keepsAllUntilItIsKnownWhatTheJobWants() {
    Wanted unknown = wanted(REPORT, 2).with(Optional.empty());
    assertThat(plan(List.of(unknown), List.of(ready(1, REPORT, SHAPE))).remove()).isEmpty();
  }

  @Test
  void removesWhatNobodyWants() {
    assertThat(plan(List.of(), List.of(ready(1, REPORT, SHAPE))).remove())
        .containsExactly(new Removal(1, Reason.NOT_WANTED));
    assertThat(
            plan(
                    List.of(wanted(REPORT, 1)),
                    List.of(ready(1, REPORT, SHAPE), ready(2, REPORT, SHAPE)))
                .remove())
        .containsExactly(new Removal(2, Reason.NOT_WANTED));
  }

  @Test
  void leavesAloneWhatIsTakenOrBeingMade() {
    Entry taken = ready(1, REPORT, shape("old secret", '1')).at(Stage.TAKEN);
    assertThat(plan(List.of(), List.of(taken, making(2, REPORT))).remove()).isEmpty();
  }

  @Test
  void unusedOnesGoAfterTenMinutesAndComeBackWithTheNextUse() {
    Wanted used = wanted(REPORT, 1).usedAt(NOW.minus(Duration.ofMinutes(10)).plusMillis(1));
    Plan before = plan(List.of(used), List.of(ready(1, REPORT, SHAPE)));
    assertThat(before.remove()).isEmpty();
    assertThat(before.next()).contains(NOW.plusMillis(1));
    Wanted unused = wanted(REPORT, 1).usedAt(NOW.minus(Duration.ofMinutes(10)));
    Plan after = plan(List.of(unused), List.of(ready(1, REPORT, SHAPE)));
    assertThat(after.remove()).containsExactly(new Removal(1, Reason.UNUSED));
    assertThat(after.make()).isEmpty();
    assertThat(plan(List.of(unused.usedAt(NOW)), List.of()).make()).containsExactly(REPORT);
  }

  @Test
  void waitsAfterAFailure() {
    Wanted failed = wanted(REPORT, 1).failed(NOW.plusSeconds(30));
    Plan plan = plan(List.of(failed), List.of());
    assertThat(plan.make()).isEmpty();
    assertThat(plan.next()).contains(NOW.plusSeconds(30));
    assertThat(WarmPlanner.plan(List.of(failed), List.of(), 0, LIMITS, NOW.plusSeconds(30)).make())
        .containsExactly(REPORT);
  }

  @Test
  void givesTheOldestThatIsExactlyWhatIsWanted() {
    List<Entry> entries =
        List.of(
            ready(7, REPORT, SHAPE),
            ready(5, REPORT, SHAPE),
            ready(1, REPORT, shape("other", '1')),
            ready(2, MAIL, SHAPE),
            ready(3, REPORT, SHAPE).at(Stage.TAKEN),
            ready(4, REPORT, SHAPE).at(Stage.LEAVING),
            making(6, REPORT));
    assertThat(WarmPlanner.take(entries, REPORT.job(), SHAPE).map(Entry::number)).contains(5L);
    assertThat(WarmPlanner.take(entries, REPORT.job(), shape("a", '2'))).isEmpty();
  }

  @Test
  void whatExecutionsAreAboutToTakeStaysAndNoMoreIsMadeForThem() {
    Wanted taking = wanted(REPORT, 0).counting(0, 1, Set.of());
    assertThat(plan(List.of(taking), List.of()).make()).isEmpty();
    assertThat(plan(List.of(taking), List.of(ready(1, REPORT, SHAPE))).remove()).isEmpty();
    assertThat(
            plan(List.of(taking), List.of(ready(1, REPORT, SHAPE), ready(2, REPORT, SHAPE)))
                .remove())
        .containsExactly(new Removal(2, Reason.NOT_WANTED));
    Plan both =
        plan(List.of(wanted(REPORT, 1).counting(1, 1, Set.of())), List.of(ready(1, REPORT, SHAPE)));
    assertThat(both.make()).as("it is there for the next, unless one takes it").isEmpty();
    assertThat(both.remove()).isEmpty();
  }

  @Test
  void othersThanTheUsualVariablesAreCountedByThemselves() {
    var env = new Overrides(Optional.empty(), Map.of("KEY", "x"), Optional.of(Duration.ZERO));
    var other = new WarmTarget(REPORT.job(), env);
    assertThat(other)
        .as("a deadline is nothing of the container")
        .isEqualTo(
            new WarmTarget(REPORT.job(), new Overrides(env.args(), env.env(), Optional.empty())));
    Plan plan = plan(List.of(wanted(other, 1)), List.of(ready(1, REPORT, SHAPE)));
    assertThat(plan.make()).containsExactly(other);
    assertThat(plan.remove()).containsExactly(new Removal(1, Reason.NOT_WANTED));
  }

  private static JobDefinition job(String settings) {
    return Jobs.parse("one: {rtype: job, image: app:1, job: {%s}}".formatted(settings)).getFirst();
  }

  @Test
  void jobsTheQueueAndSchedulesAskForTheSameContainers() {
    JobDefinition job = job("");
    WarmTarget target = WarmTarget.usual(job.key());
    ExecutionId first = new ExecutionId("first");
    var queue = new QueueAhead(Map.of(target, first), Set.of(target));
    Wanted one = demand(job, queue, Map.of(), Map.of(), NOW).get(target);
    assertThat(one.warm()).isEqualTo(1);
    assertThat(one.spare()).isEqualTo(1);
    Wanted warm = demand(job("warm: 3"), queue, Map.of(), Map.of(), NOW).get(target);
    assertThat(warm.warm()).isEqualTo(3);
    Wanted due = demand(job, QueueAhead.NONE, Map.of(job.key(), NOW), Map.of(), NOW).get(target);
    assertThat(due.warm()).isEqualTo(1);
    assertThat(demand(job, QueueAhead.NONE, Map.of(), Map.of(), NOW)).isEmpty();
    assertThat(WarmDemand.of(Map.of(), queue, Map.of(job.key(), NOW), Map.of(), NOW))
        .as("nothing of jobs that may not")
        .isEmpty();
  }

  @Test
  void whatIsWantedForSomethingElseIsUsed() {
    JobDefinition job = job("");
    WarmTarget target = WarmTarget.usual(job.key());
    var first = new QueueAhead(Map.of(target, new ExecutionId("first")), Set.of());
    var second = new QueueAhead(Map.of(target, new ExecutionId("second")), Set.of());
    Instant later = NOW.plusSeconds(60);
    Map<WarmTarget, Wanted> before = demand(job, first, Map.of(), Map.of(), NOW);
    assertThat(demand(job, first, Map.of(), before, later).get(target).used()).isEqualTo(NOW);
    assertThat(demand(job, second, Map.of(), before, later).get(target).used()).isEqualTo(later);
  }

  private static Map<WarmTarget, Wanted> demand(
      JobDefinition job,
      QueueAhead queue,
      Map<JobKey, Instant> schedule,
      Map<WarmTarget, Wanted> before,
      Instant now) {
    return WarmDemand.of(Map.of(job.key(), job), queue, schedule, before, now);
  }

  /** Whatever there is: never more than wanted, never beyond the bounds, nothing twice. */
  @Test
  void holdsItsBoundsForRandomStates() {
    long seed = new Random().nextLong();
    var random = new Random(seed);
    for (int round = 0; round < 2_000; round++) {
      var jobs = new ArrayList<Wanted>();
      var entries = new ArrayList<Entry>();
      for (WarmTarget job : List.of(REPORT, MAIL)) {
        if (random.nextInt(4) > 0) {
          jobs.add(
              wanted(job, random.nextInt(12))
                  .usedAt(NOW.minusSeconds(random.nextInt(1200)))
                  .with(random.nextBoolean() ? Optional.of(SHAPE) : Optional.empty()));
        }
        for (int i = random.nextInt(12); i > 0; i--) {
          Shape shape = random.nextBoolean() ? SHAPE : shape("old", '1');
          Stage stage = Stage.values()[random.nextInt(Stage.values().length)];
          entries.add(
              stage == Stage.MAKING
                  ? making(entries.size(), job)
                  : ready(entries.size(), job, shape).at(stage));
        }
      }
      Plan plan = WarmPlanner.plan(jobs, entries, 0, LIMITS, NOW);
      String state = "seed %d round %d".formatted(seed, round);
      List<Long> removed = plan.remove().stream().map(Removal::number).toList();
      assertThat(removed).as(state).doesNotHaveDuplicates();
      List<Entry> left =
          entries.stream()
              .filter(entry -> !removed.contains(entry.number()))
              .filter(entry -> entry.stage() == Stage.READY || entry.stage() == Stage.MAKING)
              .toList();
      int total = left.size() + plan.make().size();
      assertThat(plan.make().isEmpty() || total <= LIMITS.containers()).as(state).isTrue();
      for (Entry entry : entries) {
        if (removed.contains(entry.number())) {
          assertThat(entry.stage()).as(state).isEqualTo(Stage.READY);
        }
      }
      for (Wanted job : jobs) {
        long made = plan.make().stream().filter(job.target()::equals).count();
        long has = left.stream().filter(entry -> entry.target().equals(job.target())).count();
        assertThat(made == 0 || has + made <= job.warm()).as(state).isTrue();
      }
    }
  }
}
