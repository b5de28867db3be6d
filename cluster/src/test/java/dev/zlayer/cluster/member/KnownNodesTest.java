package dev.zlayer.cluster.member;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KnownNodesTest {
  private static final KnownNodes BOTH =
      KnownNodes.NONE.after(Map.of("a", "192.0.2.1", "b", "192.0.2.2"), "a");

  @Test
  void aNodeThatIsNotListedAnyMoreIsRemoved() {
    KnownNodes now = BOTH.after(Map.of("a", "192.0.2.1"), "a");

    assertThat(now.members()).containsOnlyKeys("a");
    assertThat(now.removed()).containsExactly("b");
    assertThat(now.removedSince(BOTH)).containsOnly(Map.entry("b", "192.0.2.2"));
    assertThat(now.removedSince(now)).isEmpty();
  }

  @Test
  void whatWasRemovedStaysRemovedWhateverIsListed() {
    KnownNodes removed = BOTH.after(Map.of("a", "192.0.2.1"), "a");

    KnownNodes again = removed.after(Map.of("a", "192.0.2.1", "b", "192.0.2.2"), "a");

    assertThat(again).isEqualTo(removed);
  }

  @Test
  void itIsKeptOnDisk(@TempDir Path directory) {
    var files = new ClusterFiles(directory);
    assertThat(files.readKnown()).isEqualTo(KnownNodes.NONE);
    KnownNodes removed = BOTH.after(Map.of("a", "192.0.2.1"), "a");

    files.write(removed);

    assertThat(files.readKnown()).isEqualTo(removed);
  }

  @Test
  void aListWithoutItsReaderChangesNothing() {
    assertThat(BOTH.after(Map.of(), "a")).isEqualTo(BOTH);
    assertThat(BOTH.after(Map.of("c", "192.0.2.3"), "a")).isEqualTo(BOTH);
  }
}
