package dev.zlayer.cluster.deploy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever happens to nodes, leaders and messages, a single instance never runs twice. */
class ClaimsPropertyTest {
  private static final int STEPS = 3000;

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void aSingleInstanceNeverRunsTwice(long seed) throws Exception {
    var world = new ClaimWorld(seed);
    for (int step = 0; step < STEPS; step++) {
      world.step();
    }
    assertThat(world.starts()).as("it runs, and moves").isGreaterThan(5);
  }

  @Test
  void itMovesWhenItsNodeIsLostAndNoSooner() throws Exception {
    var world = new ClaimWorld(1).assign(0);
    world.run(5_000);
    assertThat(world.running()).containsExactly(0);
    world.cut(0, true).assign(1);
    long cut = world.now();
    world.run(18_000);
    assertThat(world.running()).containsExactly(0);
    world.run(5_000);
    assertThat(world.running()).as("20s have passed").isEmpty();
    while (world.running().isEmpty() && world.now() < cut + 60_000) {
      world.run(100);
    }
    assertThat(world.running()).containsExactly(1);
    assertThat(world.now() - cut).isBetween(33_000L, 45_000L);
    world.cut(0, false);
    world.run(60_000);
    assertThat(world.running()).containsExactly(1);
  }

  @Test
  void anAgentThatStartsAgainContinuesWithItsClaim() throws Exception {
    var world = new ClaimWorld(2).assign(0);
    world.run(5_000);
    for (int i = 0; i < 5; i++) {
      world.restart(0, 8_000);
      world.run(3_000);
      assertThat(world.running()).containsExactly(0);
    }
    assertThat(world.starts()).isEqualTo(1);
  }

  @Test
  void whatIsWithdrawnStartsElsewhereAtOnce() throws Exception {
    var world = new ClaimWorld(3).assign(0);
    world.run(5_000);
    world.assign(1);
    world.run(5_000);
    assertThat(world.running()).containsExactly(1);
  }

  @Test
  void aQuorumThatIsLostDuringATakeoverOnlyDelaysIt() throws Exception {
    var world = new ClaimWorld(6).assign(0);
    world.run(5_000);
    world.cut(0, true).assign(1).run(10_000);
    world.loseQuorum(60_000).run(15_000);
    assertThat(world.running()).as("20s have passed").isEmpty();
    world.run(44_000);
    assertThat(world.running()).isEmpty();
    world.run(45_000);
    assertThat(world.running()).containsExactly(1);
    world.cut(0, false).run(60_000);
    assertThat(world.running()).containsExactly(1);
  }

  @Test
  void aBackupOfBeforeATakeoverStartsNoneBesideTheOneAfterIt() throws Exception {
    var world = takenOver(7);
    world.cut(0, false).restore(22_000);
    world.run(60_000);
    assertThat(world.running()).as("as the backup says").containsExactly(0);
  }

  @Test
  void aRestoreThatDoesNotWaitIsFound() {
    assertThatThrownBy(
            () -> {
              var world = takenOver(8);
              world.cut(0, false).restore(2_000);
              world.run(60_000);
            })
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("runs on");
  }

  /** A restored store counts revisions anew, so another claim may have the same one. */
  @Test
  void aClaimOfALostHistoryIsNotTakenForItsOwn() throws Exception {
    var world = takenOver(9);
    long made = world.claimed();
    world.cut(1, true).restore(22_000);
    world.claim(2, made);
    world.assign(2).run(5_000);
    assertThat(world.running()).containsExactly(2);
    world.assignToo(1);
    world.cut(1, false).run(60_000);
    assertThat(world.running()).containsExactly(2);
  }

  /** Backed up while the first node runs it; the second one does now. */
  private static ClaimWorld takenOver(long seed) throws Exception {
    var world = new ClaimWorld(seed).assign(0);
    world.run(5_000);
    world.backUp().cut(0, true).assign(1).run(60_000);
    assertThat(world.running()).containsExactly(1);
    return world;
  }

  @Test
  void aWatchdogThatDoesNothingIsFound() {
    var world = new ClaimWorld(4).withoutWatchdogs();
    assertThatThrownBy(
            () -> {
              for (int step = 0; step < 20 * STEPS; step++) {
                world.step();
              }
            })
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("runs on");
  }

  @Test
  void aTakeoverThatDoesNotWaitIsFound() {
    var world = new ClaimWorld(5).impatient();
    assertThatThrownBy(
            () -> {
              for (int step = 0; step < 20 * STEPS; step++) {
                world.step();
              }
            })
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("runs on");
  }
}
