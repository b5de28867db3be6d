package dev.zlayer.runtime.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.ContainerDir;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ContainerStateTest {
  @TempDir Path path;

  @Test
  void aLaterProcessFindsWhatWasSaved() throws Exception {
    var directory = ContainerDir.whole(path);
    var state = new ContainerState(directory, Examples.creating());
    state.save(record -> record);
    state.saveDurably(record -> record.withPhase(Phase.CREATED));
    var later = new ContainerState(directory, ContainerState.read(directory).orElseThrow());
    later.save(record -> record.starting(Examples.NOW));
    later.save(record -> record.running(Examples.NOW));
    later.end(1, Examples.OUTCOME);

    assertThat(ContainerState.read(directory)).contains(later.record());
    assertThat(later.record().outcome()).contains(Examples.OUTCOME);
  }

  @Test
  void aRefusedChangeIsNotShown() throws Exception {
    var state = new ContainerState(ContainerDir.whole(path), Examples.creating());
    state.save(record -> record.withPhase(Phase.CREATED));
    Files.delete(state.directory().recordFile());

    assertThatThrownBy(() -> state.save(record -> record.starting(Examples.NOW)))
        .isInstanceOf(AgentException.Internal.class)
        .hasMessageContaining("cannot write " + state.directory().recordFile());
    assertThat(state.record().phase()).isEqualTo(Phase.CREATED);
  }

  @Test
  void anEndIsShownAlsoWhenItCannotBeNoted() throws Exception {
    var state = new ContainerState(ContainerDir.whole(path), Examples.creating());
    state.save(record -> record.starting(Examples.NOW).running(Examples.NOW));
    byte[] kept = Files.readAllBytes(state.directory().recordFile());
    Files.delete(state.directory().recordFile());
    state.end(1, Examples.OUTCOME);
    assertThat(state.status()).isEqualTo(new ContainerStatus.Exited(Examples.OUTCOME));

    Files.write(state.directory().recordFile(), kept);
    state.save(record -> record.named("later"));
    assertThat(ContainerState.read(state.directory())).contains(state.record());
  }
}
