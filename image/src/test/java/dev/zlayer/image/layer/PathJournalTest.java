package dev.zlayer.image.layer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.linux.FileTimes;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PathJournalTest {
  @TempDir Path directory;

  @Test
  void givesBackEverythingInOrderHoweverMuchItIs() throws Exception {
    Path file = directory.resolve("journal");
    List<String> read = new ArrayList<>();
    try (var journal = new PathJournal(file)) {
      for (int i = 0; i < 20_000; i++) {
        journal.add("\u00ff/" + i, new FileTimes(i, 1, -i, 2));
      }
      assertThat(file).isNotEmptyFile();
      journal.replay(
          (path, times) -> {
            assertThat(times).isEqualTo(new FileTimes(read.size(), 1, -read.size(), 2));
            read.add(path);
          });
    }
    assertThat(read).hasSize(20_000).startsWith("\u00ff/0").endsWith("\u00ff/19999");
    assertThat(directory).isEmptyDirectory();
  }
}
