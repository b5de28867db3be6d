package dev.zlayer.engine.job;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.FileChange;
import dev.zlayer.container.PathStat;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Archivable;
import dev.zlayer.spec.value.ByteSize;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JobArtifactsTest {
  private static final ExecutionId ID = new ExecutionId("01m7eskbgp88aw4d3w8p2acch3");

  private static final ByteSize LIMIT = ByteSize.parse("1Mi");

  @TempDir Path directory;

  /** Has every path but those that begin with {@code /no}. */
  private static final class Tree implements Archivable {
    @Override
    public PathStat stat(String path) {
      throw new AgentException.Unsupported("not asked for here");
    }

    @Override
    public void copyOut(String path, OutputStream tar) {
      try {
        tar.write("tar of ".getBytes(StandardCharsets.UTF_8));
        if (path.startsWith("/no")) {
          throw new AgentException.NotFound(path, "the job did not write it");
        }
        tar.write(path.getBytes(StandardCharsets.UTF_8));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public void copyIn(String directory, InputStream tar) {}

    @Override
    public List<FileChange> changes() {
      return List.of();
    }
  }

  @Test
  void keepsAndDropsPaths() throws Exception {
    var store = new ArtifactStore(directory);

    Attempt.Artifact kept = store.keep(ID, 1, 0, "/out", new Tree(), LIMIT);

    assertThat(kept.bytes()).isEqualTo("tar of /out".length());
    try (InputStream in = store.open(ID, kept)) {
      assertThat(in).hasContent("tar of /out");
    }
    store.drop(ID);
    store.drop(ID);
    assertThatThrownBy(() -> store.open(ID, kept)).isInstanceOf(AgentException.NotFound.class);
    assertThat(directory).isEmptyDirectory();
  }

  @Test
  void whatGrowsOverTheLimitIsNotKept() {
    var store = new ArtifactStore(directory);

    assertThatThrownBy(() -> store.keep(ID, 1, 0, "/out", new Tree(), ByteSize.parse("8")))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("max_artifact_size");

    assertThat(directory.resolve(ID.text())).isEmptyDirectory();
  }

  @Test
  void whatIsCutOffIsNotTakenForTheWhole() throws Exception {
    var store = new ArtifactStore(directory);

    assertThatThrownBy(() -> store.keep(ID, 1, 0, "/nothing", new Tree(), LIMIT))
        .isInstanceOf(AgentException.NotFound.class);

    assertThat(directory.resolve(ID.text())).isEmptyDirectory();
  }

  @Test
  void filesAreOnTheDiskBeforeTheyAreNamed() throws Exception {
    Path place = directory.resolve(ID.text());
    var steps = new ArrayList<String>();
    var disk =
        new ArtifactStore.Disk() {
          @Override
          public void syncFile(Path file) {
            assertThat(file).hasContent("tar of /out");
            assertThat(place.resolve("1-0.tar")).doesNotExist();
            steps.add("file " + place.relativize(file));
          }

          @Override
          public void syncDirectory(Path synced) {
            assertThat(place.resolve("1-0.tar")).exists();
            steps.add("directory " + directory.relativize(synced));
          }
        };

    new ArtifactStore(directory, disk).keep(ID, 1, 0, "/out", new Tree(), LIMIT);

    assertThat(steps).containsExactly("file 1-0.tar.part", "directory " + ID, "directory ");
  }

  @Test
  void whatBelongsToNoExecutionIsDropped() throws Exception {
    var store = new ArtifactStore(directory);
    var forgotten = new ExecutionId("01m7eskbgp88aw4d3w8p2acch4");
    store.keep(ID, 1, 0, "/out", new Tree(), LIMIT);
    store.keep(forgotten, 1, 0, "/out", new Tree(), LIMIT);

    Files.createDirectory(directory.resolve("lost+found"));
    store.dropUnless(ID::equals);

    assertThat(directory.resolve("lost+found")).as("not ours").exists();
    assertThat(directory.resolve(forgotten.text())).doesNotExist();
    assertThat(directory.resolve(ID.text()).resolve("1-0.tar")).exists();
    new ArtifactStore(directory.resolve("none")).dropUnless(ID::equals);
  }
}
