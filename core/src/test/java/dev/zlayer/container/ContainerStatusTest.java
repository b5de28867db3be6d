package dev.zlayer.container;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerStatus.Phase;
import dev.zlayer.error.AgentException;
import java.time.Instant;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ContainerStatusTest {
  private static final Outcome OUTCOME =
      new Outcome(new ExitStatus.Code(0), Optional.empty(), Optional.empty());
  private static final List<ContainerStatus> ONE_OF_EACH =
      List.of(
          new ContainerStatus.Created(),
          new ContainerStatus.Running(Instant.EPOCH, OptionalLong.of(1)),
          new ContainerStatus.Paused(Instant.EPOCH, OptionalLong.of(1)),
          new ContainerStatus.Stopping(Instant.EPOCH),
          new ContainerStatus.Exited(OUTCOME),
          new ContainerStatus.Unknown("conmon is gone"),
          new ContainerStatus.Removed());

  @Test
  void everyMoveOfTheDrawingIsAllowedAndNoOther() {
    for (ContainerStatus from : ONE_OF_EACH) {
      for (ContainerStatus to : ONE_OF_EACH) {
        if (drawn(from.phase()).contains(to.phase())) {
          assertThat(from.next(to)).isSameAs(to);
        } else {
          assertThatThrownBy(() -> from.next(to))
              .isInstanceOf(AgentException.Internal.class)
              .hasMessageContaining(from.phase() + " to " + to.phase());
        }
      }
    }
  }

  private static Set<Phase> drawn(Phase phase) {
    return switch (phase) {
      case CREATED ->
          EnumSet.of(Phase.PREPARED, Phase.RUNNING, Phase.EXITED, Phase.UNKNOWN, Phase.REMOVED);
      case PREPARED ->
          EnumSet.of(Phase.CREATED, Phase.RUNNING, Phase.EXITED, Phase.UNKNOWN, Phase.REMOVED);
      case RUNNING ->
          EnumSet.of(Phase.PAUSED, Phase.STOPPING, Phase.EXITED, Phase.UNKNOWN, Phase.REMOVED);
      case PAUSED ->
          EnumSet.of(Phase.RUNNING, Phase.STOPPING, Phase.EXITED, Phase.UNKNOWN, Phase.REMOVED);
      case STOPPING -> EnumSet.of(Phase.EXITED, Phase.UNKNOWN, Phase.REMOVED);
      case EXITED -> EnumSet.of(Phase.RUNNING, Phase.EXITED, Phase.UNKNOWN, Phase.REMOVED);
      case UNKNOWN -> EnumSet.allOf(Phase.class);
      case REMOVED -> EnumSet.noneOf(Phase.class);
    };
  }

  @Test
  void onlyRemovedIsTerminal() {
    assertThat(Phase.values()).filteredOn(Phase::terminal).containsExactly(Phase.REMOVED);
  }

  @Test
  void exitStatusesTellTheCodeAShellWouldShow() {
    assertThat(new ExitStatus.Code(3).exitCode()).hasValue(3);
    assertThat(new ExitStatus.Signalled(Signal.TERM).exitCode()).hasValue(143);
    assertThat(new ExitStatus.OutOfMemory().exitCode()).hasValue(137);
    assertThat(new ExitStatus.Unknown("power loss").exitCode()).isEmpty();
    assertThat(new ExitStatus.Code(0).success()).isTrue();
    assertThat(new ExitStatus.Signalled(Signal.KILL).text()).isEqualTo("killed by SIGKILL");
  }
}
