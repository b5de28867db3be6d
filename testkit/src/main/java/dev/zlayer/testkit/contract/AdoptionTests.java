package dev.zlayer.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerStatus.Phase;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** An agent that starts anew finds everything as it is. */
interface AdoptionTests extends Harness {
  @Test
  default void allAreFoundInTheirTrueState() throws InterruptedException {
    needsToOutliveTheAgent();
    Container created = created(Workload.exitsWith(0));
    Container running = started(Workload.sleepsForever());
    var runningBefore = running.status();
    Container exited = started(Workload.exitsWith(13));
    var outcome = ended(exited);
    Container removed = created(Workload.exitsWith(0));
    removed.remove(false);

    restart();
    assertThat(current().list())
        .extracting(Container::id)
        .contains(created.id(), running.id(), exited.id())
        .doesNotContain(removed.id());
    assertThat(phase(adopted(created))).isEqualTo(Phase.CREATED);
    assertThat(adopted(running).status()).isEqualTo(runningBefore);
    assertThat(phase(adopted(exited))).isEqualTo(Phase.EXITED);
    assertThat(ended(adopted(exited))).isEqualTo(outcome);
  }

  /** The other way of being true: what ran inside the agent has ended with it. */
  @Test
  default void whatEndedWithTheAgentIsFoundEnded() throws InterruptedException {
    Assumptions.assumeFalse(outlivesTheAgent(), "containers of this runtime outlive the agent");
    Container created = created(Workload.exitsWith(0));
    Container running = started(Workload.sleepsForever());
    Container exited = started(Workload.exitsWith(13));
    var outcome = ended(exited);

    restart();
    assertThat(phase(adopted(created))).isEqualTo(Phase.CREATED);
    assertThat(ended(adopted(exited))).isEqualTo(outcome);
    assertThat(phase(adopted(running))).isEqualTo(Phase.EXITED);
    assertThat(ended(adopted(running)).status()).isInstanceOf(ExitStatus.Unknown.class);
    adopted(running).start();
    assertThat(phase(adopted(running))).isEqualTo(Phase.RUNNING);
  }

  @Test
  default void identityLabelsAndSpecAreKept() throws InterruptedException {
    Container container = labelled(Workload.exitsWith(0), Map.of("team", "späti\n\"x\""));
    restart();
    Container adopted = adopted(container);
    assertThat(adopted.id()).isEqualTo(container.id());
    assertThat(adopted.spec()).isEqualTo(container.spec());
    var spec = spec(Workload.exitsWith(0));
    assertThatThrownBy(() -> current().create(container.id(), spec))
        .isInstanceOf(AgentException.Conflict.class);
  }

  @Test
  default void awaitWorksOnOneThatWasStartedBefore() throws InterruptedException {
    needsToOutliveTheAgent();
    Container container = started(Workload.exitsWith(17).after(Duration.ofMillis(700)));
    restart();
    assertThat(code(ended(adopted(container)))).hasValue(17);
  }

  @Test
  default void oneThatEndsUnseenTellsHow() throws InterruptedException {
    Container container = ready(Workload.endsOn(Signal.TERM, 19));
    container.kill(Signal.TERM);
    restart();
    assertThat(code(ended(adopted(container)))).hasValue(19);
  }

  @Test
  default void stopStartAndRemoveWorkOnAdoptedOnes() throws InterruptedException {
    Container container = ready(Workload.endsOn(Signal.TERM, 23));
    restart();
    Container adopted = adopted(container);
    assertThat(code(adopted.stop(TIMEOUT).orElseThrow())).hasValue(23);
    adopted.start();
    assertThat(phase(adopted)).isEqualTo(Phase.RUNNING);
    adopted.remove(true);
    assertThat(current().find(container.id())).isEmpty();
    restart();
    assertThat(current().find(container.id())).isEmpty();
  }

  @Test
  default void outputFromBeforeAndAfterIsRead() throws InterruptedException {
    Container container =
        printed(Workload.endsOn(Signal.TERM, 0).printing("before", "stderr:also").withPrompts());
    try (var reader = container.logs(LogQuery.ALL.following())) {
      assertThat(nextLine(reader).map(LogRecord::text)).contains("before");
      assertThat(nextLine(reader).map(LogRecord::text)).contains("also");
    }
    restart();
    Container adopted = adopted(container);
    assertThat(lines(adopted, LogQuery.ALL)).containsExactly("before", "also");
    adopted.stop(TIMEOUT);
    adopted.start();
    adopted.kill(Signal.KILL);
    List<String> all = lines(adopted, LogQuery.ALL.following());
    assertThat(all).startsWith("before", "also");
  }

  private Container adopted(Container before) {
    return current().find(before.id()).orElseThrow();
  }
}
