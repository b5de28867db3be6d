package dev.zlayer.engine.job;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.error.AgentException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** Limits, order, needs and cancelling. */
class JobQueueTest extends JobFixture {
  @Test
  void limitsPerJobAndOrderByPriorityThenAge() throws InterruptedException {
    open(
        """
        low: {rtype: job, image: app:1, job: {concurrency: 1}}
        high: {rtype: job, image: app:1, job: {priority: 5}}
        """,
        new JobConfig(1, 100, Duration.ofHours(1)));
    ExecutionId first = trigger("low");
    reaches(first, ExecutionStatus.Running.class);
    ExecutionId second = trigger("low", Map.of("exit", "0"));
    ExecutionId third = trigger("high", Map.of("exit", "0"));
    ExecutionId fourth = trigger("low", Map.of("exit", "0"));

    assertThat(executor.queue())
        .extracting(queued -> queued.execution().id())
        .containsExactly(third, second, fourth);
    assertThat(executor.queue()).extracting(JobExecutor.Queued::position).containsExactly(0, 1, 2);

    executor.cancel(first);
    ended(fourth);
    assertThat(world.journal().stream().filter(line -> line.startsWith("start")))
        .containsExactly(
            "start " + executor.execution(first).container(1).path(),
            "start " + executor.execution(third).container(1).path(),
            "start " + executor.execution(second).container(1).path(),
            "start " + executor.execution(fourth).container(1).path());
  }

  @Test
  void anUrgentTriggerTakesWhatItNeedsAlong() throws InterruptedException {
    open(
        """
        busy: {rtype: job, image: app:1}
        base: {rtype: job, image: app:1, labels: {fake.exit: '0'}}
        top: {rtype: job, image: app:1, labels: {fake.exit: '0'}, job: {needs: [base]}}
        """,
        new JobConfig(1, 100, Duration.ofHours(1)));
    ExecutionId running = trigger("busy");
    reaches(running, ExecutionStatus.Running.class);
    ExecutionId early = trigger("busy", Map.of("exit", "0"));
    ExecutionId urgent =
        executor.trigger(
            TriggerRequest.of(Jobs.key("top"), new Trigger.Cli()).withPriority(Optional.of(9)));

    assertThat(executor.queue())
        .extracting(queued -> queued.execution().job().name())
        .containsExactly("base", "top", "busy");
    assertThat(executor.execution(urgent).priority()).isEqualTo(9);
    executor.cancel(running);
    ended(early);
    assertThat(executor.execution(urgent).status().finished()).isTrue();
  }

  @Test
  void aFullQueueRefusesAndRecordsNothing() {
    open("one: {rtype: job, image: app:1, job: {concurrency: 1, queue: 1}}");
    ExecutionId running = trigger("one");
    reaches(running, ExecutionStatus.Running.class);
    trigger("one");

    assertThatThrownBy(() -> trigger("one"))
        .isInstanceOf(AgentException.Busy.class)
        .hasMessageContaining("the queue of job 'shop/one' is full, 1 executions wait");
    assertThat(executor.list()).hasSize(2);
    assertThatThrownBy(() -> trigger("other")).isInstanceOf(AgentException.NotFound.class);
  }

  @Test
  void theQueueOfTheNodeIsFullOnlyWhenItsPlacesAre() {
    open(
        """
        base: {rtype: job, image: app:1}
        top: {rtype: job, image: app:1, job: {needs: [base]}}
        """,
        new JobConfig(1, 1, Duration.ofHours(1)));
    ExecutionId top = trigger("top");
    assertThat(executor.queue())
        .as("one took the free place")
        .extracting(queued -> queued.execution().id())
        .containsExactly(top);

    assertThatThrownBy(() -> trigger("base"))
        .isInstanceOf(AgentException.Busy.class)
        .hasMessageContaining("the queue of this node is full, 1 executions wait")
        .hasMessageContaining("job_queue");
    assertThat(executor.list()).hasSize(2);
  }

  private static final String NEEDS =
      """
      base: {rtype: job, image: app:1}
      left: {rtype: job, image: app:1, job: {needs: [base]}}
      right: {rtype: job, image: app:1, job: {needs: [base]}}
      top: {rtype: job, image: app:1, job: {needs: [left, right]}}
      """;

  @Test
  void runsWhatIsNeededFirstAndOnce() throws InterruptedException {
    open(NEEDS.replace("image: app:1", "image: app:1, labels: {fake.exit: '0'}"));
    ExecutionId top = trigger("top");

    assertThat(ended(top).status().text()).isEqualTo("completed(0)");
    assertThat(executor.list())
        .extracting(execution -> execution.job().name())
        .containsExactly("base", "left", "right", "top");
    Execution base = executor.list().getFirst();
    assertThat(base.trigger()).isEqualTo(new Trigger.Internal("needed by shop/top"));
    assertThat(executor.execution(top).startedAt().orElseThrow())
        .isAfterOrEqualTo(base.finishedAt().orElseThrow());
  }

  @Test
  void whatNeedsAFailedJobFailsWithTheReason() throws InterruptedException {
    open(NEEDS.replace("base: {rtype: job,", "base: {rtype: job, labels: {fake.exit: '7'},"));

    assertThat(((ExecutionStatus.Failed) ended(trigger("top")).status()).reason())
        .isEqualTo("needs job 'shop/left', which failed");
    assertThat(world.journal().stream().filter(line -> line.startsWith("start"))).hasSize(1);
  }

  @Test
  void cancelTakesAWaitingOneOutOfTheQueue() throws InterruptedException {
    open("one: {rtype: job, image: app:1, job: {concurrency: 1}}");
    ExecutionId running = trigger("one");
    ExecutionId waiting = trigger("one");
    reaches(running, ExecutionStatus.Running.class);

    assertThat(executor.cancel(waiting).status()).isEqualTo(new ExecutionStatus.Cancelled());
    executor.cancel(running);
    ended(running);

    assertThat(executor.execution(waiting).attempts()).isEmpty();
  }

  @Test
  void cancelStopsARunWithGraceAndKeepsItsOutput() throws InterruptedException {
    open(ONE);
    ExecutionId id = trigger("one", Map.of("on.TERM", "0", "log", "work"));
    reaches(id, ExecutionStatus.Running.class);
    Awaitility.await().until(() -> !output(id, 1).isEmpty());

    executor.cancel(id);

    Execution done = ended(id);
    assertThat(done.status())
        .as("although it ended with 0")
        .isEqualTo(new ExecutionStatus.Cancelled());
    assertThat(done.attempt().exit()).contains(new ExitStatus.Code(0));
    assertThat(output(id, 1)).containsExactly("work");
    Awaitility.await().until(() -> runtime.list().isEmpty());
  }

  @Test
  void cancelInterruptsInitSteps() throws InterruptedException {
    var begun = new CountDownLatch(1);
    initializer =
        (_, _) -> {
          begun.countDown();
          new CountDownLatch(1).await();
        };
    open(
        """
        one:
          rtype: job
          image: app:1
          init: {steps: [{id: wait, uses: init.wait_tcp, with: {host: db, port: 1}}]}
        """);
    ExecutionId id = trigger("one");
    begun.await();
    assertThat(executor.execution(id).status()).isInstanceOf(ExecutionStatus.Initializing.class);

    executor.cancel(id);

    assertThat(ended(id).status()).isEqualTo(new ExecutionStatus.Cancelled());
    assertThat(world.journal()).isEmpty();
  }

  @Test
  void cancellingWhatHasEndedOrNeverWasSaysSo() throws InterruptedException {
    open(ONE);
    ExecutionId id = trigger("one", Map.of("exit", "0"));
    ended(id);

    assertThatThrownBy(() -> executor.cancel(id))
        .isInstanceOf(AgentException.Conflict.class)
        .hasMessageContaining("it has ended already, completed(0)");
    assertThatThrownBy(() -> executor.cancel(new ExecutionId("nothing")))
        .isInstanceOf(AgentException.NotFound.class);
    assertThat(executor.execution(id).status().text()).isEqualTo("completed(0)");
  }
}
