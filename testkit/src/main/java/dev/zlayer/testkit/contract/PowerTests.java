package dev.zlayer.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerStatus.Phase;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.Resources;
import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Archivable;
import dev.zlayer.port.Attachable;
import dev.zlayer.port.Connectable;
import dev.zlayer.port.Container;
import dev.zlayer.port.Exportable;
import dev.zlayer.port.Pausable;
import dev.zlayer.port.Preparable;
import dev.zlayer.port.ProcessListing;
import dev.zlayer.port.Renamable;
import dev.zlayer.port.Updatable;
import dev.zlayer.port.VolumeSyncing;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What only some runtimes can do; tested where it is declared. */
interface PowerTests extends Harness {
  Set<Class<?>> POWERS =
      Set.of(
          Pausable.class,
          Preparable.class,
          Updatable.class,
          Renamable.class,
          Archivable.class,
          Attachable.class,
          Connectable.class,
          Exportable.class,
          ProcessListing.class,
          VolumeSyncing.class);

  @Test
  default void handlesHaveExactlyTheDeclaredPowers() throws InterruptedException {
    Container container = created(Workload.exitsWith(0));
    var declared = current().capabilities().powers();
    assertThat(POWERS).containsAll(declared);
    for (Class<?> power : POWERS) {
      assertThat(power.isInstance(container))
          .as(power.getSimpleName())
          .isEqualTo(declared.contains(power));
    }
  }

  @Test
  default void pausingFreezesAndBothWaysAreIdempotent() throws InterruptedException {
    Container container = started(Workload.sleepsForever());
    Pausable pausable = power(container, Pausable.class);
    var running = container.status();
    pausable.pause();
    pausable.pause();
    assertThat(phase(container)).isEqualTo(Phase.PAUSED);
    assertThat(container.pid()).isNotEmpty();
    assertThatThrownBy(() -> container.remove(false)).isInstanceOf(AgentException.Conflict.class);
    restart();
    Container adopted = current().find(container.id()).orElseThrow();
    assertThat(phase(adopted)).isEqualTo(Phase.PAUSED);
    power(adopted, Pausable.class).unpause();
    power(adopted, Pausable.class).unpause();
    assertThat(adopted.status()).isEqualTo(running);
  }

  @Test
  default void aPausedOneCanBeStopped() throws InterruptedException {
    Container container = ready(Workload.endsOn(Signal.TERM, 31));
    power(container, Pausable.class).pause();
    assertThat(code(container.stop(TIMEOUT).orElseThrow())).hasValue(31);
  }

  @Test
  default void aPausedOneCanBeRemovedByForce() throws InterruptedException {
    Container container = started(Workload.ignoresTerm());
    power(container, Pausable.class).pause();
    container.remove(true);
    assertThat(phase(container)).isEqualTo(Phase.REMOVED);
  }

  @Test
  default void pausingNeedsARunningContainer() throws InterruptedException {
    Container container = created(Workload.exitsWith(0));
    Pausable pausable = power(container, Pausable.class);
    assertThatThrownBy(pausable::pause).isInstanceOf(AgentException.Conflict.class);
  }

  @Test
  default void aPreparedOneRunsNothingUntilItIsStarted() throws InterruptedException {
    Container container = created(Workload.prints("hello"));
    Preparable preparable = power(container, Preparable.class);
    assertThat(preparable.claim(Map.of("early", "yes"))).isFalse();
    preparable.prepare();
    preparable.prepare();
    assertThat(phase(container)).isEqualTo(Phase.PREPARED);
    assertThat(container.status().alive()).isFalse();
    assertThat(container.stop(TIMEOUT)).isEmpty();
    assertThatThrownBy(() -> container.kill(Signal.TERM))
        .isInstanceOf(AgentException.Conflict.class);
    assertThat(lines(container, LogQuery.ALL)).isEmpty();
    assertThat(preparable.claim(Map.of("for", "me"))).isTrue();
    assertThat(container.spec().labels()).containsEntry("for", "me").doesNotContainKey("early");
    container.start();
    assertThat(code(ended(container))).hasValue(0);
    assertThat(lines(container, LogQuery.ALL)).containsExactly("hello");
    assertThat(preparable.claim(Map.of())).isFalse();
    assertThatThrownBy(preparable::prepare).isInstanceOf(AgentException.Conflict.class);
  }

  @Test
  default void aPreparedOneCanBeStartedAfterARestartAndRemovedUnused() throws InterruptedException {
    Container container = created(Workload.exitsWith(3));
    Container unused = created(Workload.exitsWith(0));
    power(container, Preparable.class).prepare();
    power(unused, Preparable.class).prepare();
    restart();
    Container adopted = current().find(container.id()).orElseThrow();
    assertThat(phase(adopted)).isIn(Phase.CREATED, Phase.PREPARED);
    adopted.start();
    assertThat(code(ended(adopted))).hasValue(3);
    current().find(unused.id()).orElseThrow().remove(false);
    assertThat(current().find(unused.id())).isEmpty();
  }

  @Test
  default void namesAreUniqueAndSurviveARestart() throws InterruptedException {
    Container first = created(Workload.exitsWith(0));
    Container second = created(Workload.exitsWith(0));
    String name = "name-" + first.id().runtimeName();
    power(first, Renamable.class).rename(name);
    assertThat(first.inspect().name()).isEqualTo(name);
    Renamable other = power(second, Renamable.class);
    assertThatThrownBy(() -> other.rename(name)).isInstanceOf(AgentException.Conflict.class);
    assertThatThrownBy(() -> other.rename("a b")).isInstanceOf(AgentException.InvalidSpec.class);
    assertThat(second.inspect().name()).isNotEqualTo(name);
    restart();
    assertThat(current().find(first.id()).orElseThrow().inspect().name()).isEqualTo(name);
  }

  @Test
  default void newLimitsShowInTheStats() throws InterruptedException {
    Container container = started(Workload.sleepsForever());
    Updatable updatable = power(container, Updatable.class);
    updatable.update(Resources.DEFAULT.withMemory(64 << 20).withPids(77));
    var stats = container.stats();
    assertThat(stats.memoryLimitBytes()).hasValue(64 << 20);
    assertThat(stats.pidsLimit()).hasValue(77);
  }

  @Test
  default void processesAreATableWithTheFirstProcess() throws InterruptedException {
    Container container = started(Workload.sleepsForever());
    var table = power(container, ProcessListing.class).processes();
    assertThat(table.titles()).contains("PID");
    assertThat(table.rows()).isNotEmpty().allMatch(row -> row.size() == table.titles().size());
  }

  @Test
  default void detachingLeavesItRunning() throws InterruptedException {
    Container container = started(Workload.sleepsForever());
    try (var session = power(container, Attachable.class).attach()) {
      session.resize(24, 80);
    }
    assertThat(phase(container)).isEqualTo(Phase.RUNNING);
  }

  @Test
  default void anAttachedSessionEndsWithTheContainer() throws InterruptedException {
    Container container = ready(Workload.endsOn(Signal.TERM, 33));
    try (var session = power(container, Attachable.class).attach()) {
      container.kill(Signal.TERM);
      assertThat(code(session.await(patience()))).hasValue(33);
    }
  }
}
