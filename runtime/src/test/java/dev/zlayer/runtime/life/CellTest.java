package dev.zlayer.runtime.life;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.ContainerDir;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CellTest {
  @TempDir Path path;

  @Test
  void aLaterProcessFindsWhatWasSaved() throws Exception {
    var directory = ContainerDir.whole(path);
    var cell = new Cell(directory, Examples.creating());
    cell.save(record -> record);
    cell.saveDurably(record -> record.withPhase(Phase.CREATED));
    var later = new Cell(directory, Cell.read(directory).orElseThrow());
    later.save(record -> record.starting(Examples.NOW));
    later.save(record -> record.running(Examples.NOW));
    later.end(1, Examples.OUTCOME);

    assertThat(Cell.read(directory)).contains(later.record());
    assertThat(later.record().outcome()).contains(Examples.OUTCOME);
  }

  @Test
  void aRefusedChangeIsNotShown() throws Exception {
    var cell = new Cell(ContainerDir.whole(path), Examples.creating());
    cell.save(record -> record.withPhase(Phase.CREATED));
    Files.delete(cell.directory().recordFile());

    assertThatThrownBy(() -> cell.save(record -> record.starting(Examples.NOW)))
        .isInstanceOf(AgentException.Internal.class)
        .hasMessageContaining("cannot write " + cell.directory().recordFile());
    assertThat(cell.record().phase()).isEqualTo(Phase.CREATED);
  }

  @Test
  void anEndIsShownAlsoWhenItCannotBeNoted() throws Exception {
    var cell = new Cell(ContainerDir.whole(path), Examples.creating());
    cell.save(record -> record.starting(Examples.NOW).running(Examples.NOW));
    byte[] kept = Files.readAllBytes(cell.directory().recordFile());
    Files.delete(cell.directory().recordFile());
    cell.end(1, Examples.OUTCOME);
    assertThat(cell.status()).isEqualTo(new ContainerStatus.Exited(Examples.OUTCOME));

    Files.write(cell.directory().recordFile(), kept);
    cell.save(record -> record.named("later"));
    assertThat(Cell.read(cell.directory())).contains(cell.record());
  }
}
