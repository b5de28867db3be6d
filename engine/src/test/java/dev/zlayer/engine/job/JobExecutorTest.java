package dev.zlayer.engine.job;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Signal;
import dev.zlayer.engine.init.InitObserver;
import dev.zlayer.engine.init.Initializer;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Container;
import dev.zlayer.testkit.FakeClock;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class JobExecutorTest extends JobFixture {
  @Test
  void runsToTheEndAndKeepsCodeTimesAndOutput() throws InterruptedException {
    open(ONE);
    ExecutionId id = trigger("one", Map.of("exit", "0", "after", "3s", "log", "a\nstderr:b"));
    reaches(id, ExecutionStatus.Running.class);
    Awaitility.await().until(() -> output(id, 1).size() == 2);
    assertThat(output(id, 1)).as("live").containsExactly("a", "b");
    clock.advance(Duration.ofSeconds(3));

    Execution done = ended(id);

    assertThat(done.status()).isEqualTo(new ExecutionStatus.Completed(0, Duration.ofSeconds(3)));
    assertThat(done.createdAt()).isEqualTo(FakeClock.START);
    assertThat(done.attempt().finishedAt()).contains(FakeClock.START.plusSeconds(3));
    Awaitility.await().until(() -> runtime.list().isEmpty());
    assertThat(output(id, 1)).as("after the container is gone").containsExactly("a", "b");
    assertThat(store.events(0, 100).events())
        .extracting(event -> event.event().kind())
        .containsExactly("job.pending", "job.initializing", "job.running", "job.completed");
  }

  /** A cluster asks again when it does not know whether it was heard. */
  @Test
  void anExecutionWithAGivenIdentityIsMadeOnce() throws InterruptedException {
    open(ONE);
    var given = new TriggerRequest.Given(ExecutionId.parse("0123456789abcdefghjkmnpqrs"), 7);
    TriggerRequest request =
        TriggerRequest.of(Jobs.key("one"), new Trigger.Cli())
            .with(Jobs.behaving(Map.of("exit", "0")))
            .as(given);

    ExecutionId id = executor.trigger(request);
    assertThat(ended(id).name()).isEqualTo("shop/one/7");
    assertThat(executor.trigger(request)).isEqualTo(id).isEqualTo(given.id());
    assertThat(executor.list()).hasSize(1);
    ExecutionId next = trigger("one", Map.of("exit", "0"));
    assertThat(executor.execution(next).number()).isEqualTo(8);
  }

  @Test
  void anErrorEndsTheExecutionWithItsReason() throws InterruptedException {
    initializer =
        new Initializer() {
          @Override
          public void run(Request request, InitObserver observer) {}

          @Override
          public boolean delivers(Container ended) {
            return true;
          }

          @Override
          public void deliver(Container ended, InitObserver observer) {
            throw new StackOverflowError("too deep");
          }
        };
    open(ONE);

    Execution done = ended(trigger("one", Map.of("exit", "0")));

    assertThat(done.status())
        .isInstanceOfSatisfying(
            ExecutionStatus.Failed.class,
            failed -> assertThat(failed.reason()).contains("StackOverflowError: too deep"));
    Awaitility.await().until(() -> runtime.list().isEmpty());
  }

  @Test
  void tellsSignalsAndMemoryFromCodes() throws InterruptedException {
    open(ONE);

    assertThat(ended(trigger("one", Map.of("signal", "SEGV"))).status())
        .isEqualTo(
            new ExecutionStatus.Failed(
                "killed by SIGSEGV", Optional.of(new ExitStatus.Signalled(Signal.parse("SEGV")))));
    assertThat(ended(trigger("one", Map.of("oom", "true"))).status())
        .isEqualTo(
            new ExecutionStatus.Failed("out of memory", Optional.of(new ExitStatus.OutOfMemory())));
    assertThat(ended(trigger("one", Map.of("exit", "3"))).status().text()).isEqualTo("failed(3)");
  }

  @Test
  void retriesWithGrowingPausesAndKeepsEveryAttempt() throws InterruptedException {
    open("one: {rtype: job, image: app:1, job: {retries: 2, backoff: {initial: 10s, max: 15s}}}");
    ExecutionId id = trigger("one", Map.of("exit", "9", "log", "try"));

    Awaitility.await().until(() -> executor.execution(id).notBefore().isPresent());
    assertThat(executor.execution(id).notBefore()).contains(FakeClock.START.plusSeconds(10));
    assertThat(executor.queue()).extracting(q -> q.execution().id()).containsExactly(id);
    clock.advance(Duration.ofSeconds(10));
    Awaitility.await().until(() -> executor.execution(id).attempts().size() == 2);
    Awaitility.await().until(() -> executor.execution(id).notBefore().isPresent());
    clock.advance(Duration.ofSeconds(14));
    assertThat(executor.execution(id).attempts()).hasSize(2);
    clock.advance(Duration.ofSeconds(1));

    Execution done = ended(id);
    assertThat(done.status().text()).isEqualTo("failed(9)");
    assertThat(done.attempts()).hasSize(3);
    assertThat(output(id, 1)).containsExactly("try");
    assertThat(output(id, 3)).containsExactly("try");
  }

  @Test
  void exitCodesMeanWhatTheJobSays() throws InterruptedException {
    open(
        """
        one:
          rtype: job
          image: app:1
          job: {retries: 5, backoff: 0s, exit_codes: {"3": fail, "4-6": succeed}}
        """);

    Execution failed = ended(trigger("one", Map.of("exit", "3")));
    assertThat(failed.status().text()).isEqualTo("failed(3)");
    assertThat(failed.attempts()).hasSize(1);
    assertThat(ended(trigger("one", Map.of("exit", "5"))).status().text())
        .isEqualTo("completed(5)");
  }

  @Test
  void aWrongRequestIsNotTriedAgain() throws InterruptedException {
    open("one: {rtype: job, image: {name: app:1, pull_policy: never}, job: {retries: 5}}");

    Execution failed = ended(trigger("one"));

    assertThat(failed.attempts()).hasSize(1);
    assertThat(failed.status()).isInstanceOf(ExecutionStatus.Failed.class);
  }

  @Test
  void theDeadlineKillsAndSaysSo() throws InterruptedException {
    open("one: {rtype: job, image: app:1, job: {deadline: 5s, retries: 3}}");
    ExecutionId id = trigger("one", Map.of("ignore-term", "true", "log", "busy"));
    reaches(id, ExecutionStatus.Running.class);
    Awaitility.await().until(() -> !output(id, 1).isEmpty());
    clock.advance(Duration.ofSeconds(5));

    Execution failed = ended(id);

    assertThat(failed.status())
        .isEqualTo(
            new ExecutionStatus.Failed(
                "its deadline of 5s passed", Optional.of(new ExitStatus.Signalled(Signal.KILL))));
    assertThat(failed.attempts()).hasSize(1);
    assertThat(output(id, 1)).containsExactly("busy");
  }

  @Test
  void aTriggerMayOverrideTheDeadline() throws InterruptedException {
    open("one: {rtype: job, image: app:1, job: {deadline: 5h}}");
    var overrides = new Overrides(Optional.empty(), Map.of(), Optional.of(Duration.ofSeconds(1)));
    ExecutionId id =
        executor.trigger(
            TriggerRequest.of(Jobs.key("one"), new Trigger.Endpoint(Optional.of("192.0.2.9")))
                .with(overrides));
    reaches(id, ExecutionStatus.Running.class);
    clock.advance(Duration.ofSeconds(1));

    assertThat(((ExecutionStatus.Failed) ended(id).status()).reason())
        .isEqualTo("its deadline of 1s passed");
  }

  @Test
  void aFailureNamesThePhaseItHappenedIn() throws InterruptedException {
    ImageRef image = ImageRef.parse("app:1");
    open(ONE);
    world.images().failPull(image, () -> new AgentException.NotFound("image 'app:1'", "no tag"));
    assertThat(reason(trigger("one"))).startsWith("image pull failed: ").contains("no tag");
    world.images().add(image);
    assertThat(reason(trigger("one", Map.of("fail", "create")))).startsWith("create failed: ");
    assertThat(reason(trigger("one", Map.of("fail", "start")))).startsWith("start failed: ");
  }

  private String reason(ExecutionId id) throws InterruptedException {
    return ((ExecutionStatus.Failed) ended(id).status()).reason();
  }

  @Test
  void saysHowManyAreActiveAndThatItIsShuttingDown() throws InterruptedException {
    open("one: {rtype: job, image: app:1, job: {concurrency: 2}}");
    assertThat(executor.active()).isZero();
    ExecutionId first = trigger("one", Map.of("exit", "0", "after", "1m"));
    ExecutionId second = trigger("one", Map.of("exit", "0", "after", "2m"));
    trigger("one");
    reaches(first, ExecutionStatus.Running.class);
    reaches(second, ExecutionStatus.Running.class);
    assertThat(executor.active()).isEqualTo(2);

    executor.close();

    assertThatThrownBy(() -> trigger("one"))
        .isInstanceOf(AgentException.Unavailable.class)
        .hasMessageContaining("shutting down");
  }
}
