package dev.zlayer.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.FileChange;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Archivable;
import dev.zlayer.port.Container;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Files in and out, where a runtime declares it. */
interface ArchiveTests extends Harness {
  @Test
  default void whatIsCopiedInCanBeSeenAndCopiedOut() throws InterruptedException {
    Container container = created(Workload.exitsWith(0));
    Archivable files = power(container, Archivable.class);
    copyIn(files, TarEntry.file("note", "contents of the note").withMode(0640));
    var stat = files.stat("/tmp/note");
    assertThat(stat.name()).isEqualTo("note");
    assertThat(stat.size()).isEqualTo(20);
    assertThat(stat.mode() & 07777).isEqualTo(0640);
    var tar = new ByteArrayOutputStream();
    files.copyOut("/tmp/note", tar);
    assertThat(tar.toString(StandardCharsets.ISO_8859_1)).contains("note", "contents of the note");
  }

  @Test
  default void changesNameWhatDiffersFromTheImage() throws InterruptedException {
    Container container = created(Workload.exitsWith(0));
    Archivable files = power(container, Archivable.class);
    copyIn(files, TarEntry.file("added", "x"));
    assertThat(files.changes()).contains(new FileChange("/tmp/added", FileChange.Kind.ADDED));
  }

  @Test
  default void aRunningOneSeesWhatIsCopiedIn() throws InterruptedException {
    needsRealShell();
    Container container =
        started(Workload.runs("until [ -e /tmp/go ]; do sleep 0.05; done; exit 44"));
    copyIn(power(container, Archivable.class), TarEntry.file("go", ""));
    assertThat(code(ended(container))).hasValue(44);
  }

  @Test
  default void aPathThatIsNotThereIsNotFound() throws InterruptedException {
    Container container = created(Workload.exitsWith(0));
    Archivable files = power(container, Archivable.class);
    assertThatThrownBy(() -> files.stat("/no/such")).isInstanceOf(AgentException.NotFound.class);
    assertThatThrownBy(() -> files.copyOut("/no/such", OutputStream.nullOutputStream()))
        .isInstanceOf(AgentException.NotFound.class);
    assertThatThrownBy(
            () -> files.copyIn("/no/such", new ByteArrayInputStream(TarWriter.archive(List.of()))))
        .isInstanceOf(AgentException.NotFound.class);
  }

  /** The link points out of the container for whoever follows it on the host. */
  @Test
  default void aLinkDoesNotLeadOut() throws InterruptedException {
    Container container = created(Workload.exitsWith(0));
    Archivable files = power(container, Archivable.class);
    copyIn(files, TarEntry.symlink("out", "/../../../../../../../../tmp"));
    copyIn(files, TarEntry.file("inside", "x"));
    assertThat(files.stat("/tmp/out/inside").size()).isEqualTo(1);
  }

  private static void copyIn(Archivable files, TarEntry entry) throws InterruptedException {
    files.copyIn("/tmp", new ByteArrayInputStream(TarWriter.archive(List.of(entry))));
  }
}
