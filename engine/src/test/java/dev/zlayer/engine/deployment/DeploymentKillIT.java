package dev.zlayer.engine.deployment;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.engine.job.Mortal;
import dev.zlayer.error.AgentException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The agent is killed after each single change that a verb makes, of its records or of a container,
 * and started again. What was wanted becomes true, nothing is made twice, nothing is left.
 */
class DeploymentKillIT {
  /** More than any verb needs. */
  private static final int MOST = 200;

  private static final ServiceKey WEB = new ServiceKey(EngineFixture.NAME, "web");

  private static final String ONE =
      """
      db: {image: db:1}
      migrate: {rtype: job, image: job:1, depends: [db], labels: {fake.exit: '0'}}
      web:
        image: web:1
        depends: [{service: migrate, condition: completed}]
        scale: {mode: manual, replicas: 2}
      """;

  private static final String TWO = ONE.replace("web:1", "web:2").replace("db:1", "db:2");

  /** What is asked for, from where, and how many replicas of which image there are afterwards. */
  private enum Verb {
    UP(List.of(), 2, "web:1") {
      @Override
      void ask(EngineFixture fixture) {
        fixture.up(ONE);
      }
    },
    UPDATE(List.of(ONE), 2, "web:2") {
      @Override
      void ask(EngineFixture fixture) {
        fixture.up(TWO);
      }
    },
    STOP_FIRST(List.of(ONE), 2, "web:2") {
      @Override
      void ask(EngineFixture fixture) {
        fixture.up(TWO + "  update: {strategy: stop_first}\n");
      }
    },
    ROLLBACK(List.of(ONE, TWO), 2, "web:1") {
      @Override
      void ask(EngineFixture fixture) {
        fixture.deployments.rollback(EngineFixture.NAME, Optional.of(1L));
      }
    },
    SCALE(List.of(ONE), 3, "web:1") {
      @Override
      void ask(EngineFixture fixture) {
        fixture.deployments.scale(WEB, 3);
      }
    },
    DOWN(List.of(ONE), 0, "") {
      @Override
      void ask(EngineFixture fixture) {
        try {
          fixture.deployments.down(EngineFixture.NAME, false);
        } catch (AgentException.NotFound _) {
          // gone already
        }
      }
    };

    private final List<String> before;
    private final int replicas;
    private final String image;

    Verb(List<String> before, int replicas, String image) {
      this.before = before;
      this.replicas = replicas;
      this.image = image;
    }

    /** May be asked twice, as somebody does who got no answer. */
    abstract void ask(EngineFixture fixture);

    boolean done(EngineFixture fixture) {
      List<String> images =
          fixture.runtime.list().stream()
              .filter(container -> container.id().service().equals("web"))
              .filter(container -> container.status().alive())
              .map(container -> container.spec().image().familiar())
              .toList();
      return images.size() == replicas
          && images.stream().allMatch(image::equals)
          && fixture.look().outcome()
              == (replicas == 0 ? WaitResult.Outcome.REMOVED : WaitResult.Outcome.STABLE);
    }
  }

  @TempDir Path artifacts;
  private Thread.UncaughtExceptionHandler handler;

  @BeforeEach
  void silenceTheKilled() {
    handler = Mortal.silence();
  }

  @AfterEach
  void restoreTheHandler() {
    Thread.setDefaultUncaughtExceptionHandler(handler);
  }

  @ParameterizedTest
  @EnumSource
  void isCarriedOutAfterAKillAtAnyChange(Verb verb) {
    int changes = 0;
    while (killedAfter(++changes, verb)) {
      assertThat(changes).as("the verb ends").isLessThan(MOST);
    }
    System.out.printf("%s: killed after each of %d changes%n", verb, changes - 1);
    assertThat(changes).isGreaterThan(5);
  }

  /** False when the verb needs fewer changes than that. */
  private boolean killedAfter(int changes, Verb verb) {
    String name = "%s, killed after change %d".formatted(verb, changes);
    try (var fixture = new EngineFixture(artifacts)) {
      for (String file : verb.before) {
        fixture.up(file);
        assertThat(fixture.settle().outcome()).as(name).isEqualTo(WaitResult.Outcome.STABLE);
      }
      fixture.stop();
      var mortal = Mortal.afterChange(changes);
      boolean answered = live(fixture, mortal, verb);
      stopDying(fixture);

      fixture.open();
      if (!answered) {
        verb.ask(fixture);
      }
      fixture.await(() -> verb.done(fixture));
      assertThat(fixture.containers("db")).as(name).hasSize(verb.replicas == 0 ? 0 : 1);
      assertThat(fixture.containers("web")).as(name).hasSize(verb.replicas);
      assertThat(fixture.world.journal().stream().filter(line -> line.startsWith("start ")))
          .as(name + ": no identity is given twice")
          .doesNotHaveDuplicates();
      if (verb.replicas == 0) {
        assertThat(fixture.store.list("service")).as(name).isEmpty();
        assertThat(fixture.store.list("deployment")).as(name).isEmpty();
        assertThat(fixture.networks).as(name).contains("remove " + EngineFixture.NAME);
        assertThat(fixture.rotation).as(name).isEmpty();
      }
      return mortal.dead();
    }
  }

  private static void stopDying(EngineFixture fixture) {
    try {
      fixture.stop();
    } catch (Mortal.Killed _) {
      // what goes on after the verb is done may reach the change only now
    }
  }

  /** Whether the verb was answered before the kill. */
  private static boolean live(EngineFixture fixture, Mortal mortal, Verb verb) {
    boolean answered = false;
    try {
      fixture.open(mortal.over(fixture.store), mortal.over(fixture.runtime));
      verb.ask(fixture);
      answered = true;
      fixture.await(() -> mortal.dead() || verb.done(fixture));
    } catch (Mortal.Killed _) {
      // on the thread of the caller
    } catch (AgentException e) {
      if (!mortal.dead()) {
        throw e;
      }
    }
    return answered;
  }
}
