package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogSpec;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.host.linux.Mounts;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.port.Container;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What lay in memory is gone with the machine; what was promised to survive has to. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class RebootIT {
  private static final String WAIT_AND_END = "until [ -e /go ]; do sleep 0.05; done; exit 9";

  @TempDir Path directory;
  private RuntimeFixture fixture;

  @BeforeEach
  void open() throws Exception {
    fixture = RuntimeFixture.open(directory);
  }

  @AfterEach
  void tearDown() throws Exception {
    fixture.tearDown();
  }

  @Test
  void containersStartAgainAndEndsAreKnown() throws Exception {
    Container made =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.script("echo made; exit 3"));
    Container ended =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.script("echo run; exit 7"));
    ended.start();
    assertThat(Runs.end(ended)).isEqualTo(new ExitStatus.Code(7));
    Container unseen =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.script(WAIT_AND_END));
    unseen.start();
    Path root = Path.of("/proc", Long.toString(unseen.pid().orElseThrow()), "root");
    Container cut =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.script("echo begun; sleep 300"));
    cut.start();
    long first = cut.pid().orElseThrow();
    ContainerDir cutDirectory = fixture.dirs.container(cut.id().runtimeName());
    String monitor = Files.readString(cutDirectory.monitorPid()).strip();

    fixture.close();
    Files.createFile(root.resolve("go")); // now that nobody is there to see how it ends
    Path note = exitNote(unseen);
    Awaitility.await().until(() -> Files.exists(note));
    for (long pid : List.of(Long.parseLong(monitor), first)) {
      ProcessHandle process = ProcessHandle.of(pid).orElseThrow();
      process.destroyForcibly();
      Awaitility.await().until(() -> !process.isAlive());
    }
    loseWhatIsInMemory();
    fixture = RuntimeFixture.open(directory);

    assertThat(Runs.end(again(ended))).isEqualTo(new ExitStatus.Code(7));
    assertThat(Runs.end(again(unseen))).isEqualTo(new ExitStatus.Code(9));
    assertThat(Runs.end(again(cut))).isInstanceOf(ExitStatus.Unknown.class);
    assertThat(again(made).status()).isInstanceOf(ContainerStatus.Created.class);

    again(made).start();
    assertThat(Runs.end(again(made))).isEqualTo(new ExitStatus.Code(3));
    assertThat(RuntimeFixture.text(again(made))).isEqualTo("made");
    again(ended).start();
    assertThat(Runs.end(again(ended))).isEqualTo(new ExitStatus.Code(7));
    assertThat(RuntimeFixture.text(again(ended))).isEqualTo("run\nrun");
    again(cut).start();
    assertThat(Runs.exec(again(cut), "cat", "/etc/hostname")).contains(cut.id().runtimeName());
    for (Container container : List.of(made, ended, unseen, cut)) {
      again(container).remove(true);
    }
    assertThat(fixture.dirs.containers()).isEmptyDirectory();
    assertThat(fixture.dirs.container("x").run().getParent()).isEmptyDirectory();
  }

  @Test
  void logsInMemoryAreLostAndWhoeverReadsIsToldSo() throws Exception {
    ContainerSpec spec =
        RuntimeFixture.script("echo run; exit 7").withLogs(LogSpec.DEFAULT.withMemory());
    Container ended = fixture.runtime.create(RuntimeFixture.id(), spec);
    ended.start();
    assertThat(Runs.end(ended)).isEqualTo(new ExitStatus.Code(7));
    fixture.close();
    fixture = RuntimeFixture.open(directory);
    assertThat(RuntimeFixture.text(again(ended))).as("only the agent has ended").isEqualTo("run");

    fixture.close();
    loseWhatIsInMemory();
    fixture = RuntimeFixture.open(directory);

    assertThat(RuntimeFixture.text(again(ended))).isEmpty();
    again(ended).start();
    assertThat(Runs.end(again(ended))).isEqualTo(new ExitStatus.Code(7));
    try (var reader = again(ended).logs(LogQuery.ALL)) {
      assertThat(reader.next().orElseThrow().text()).isEqualTo("run");
      assertThat(reader.gap()).isTrue();
      assertThat(reader.next()).isEmpty();
    }
    again(ended).remove(true);
    assertThat(fixture.dirs.containers()).isEmptyDirectory();
    assertThat(fixture.dirs.container("x").run().getParent()).isEmptyDirectory();
  }

  private Container again(Container container) {
    return fixture.runtime.find(container.id()).orElseThrow();
  }

  private Path exitNote(Container container) {
    String name = container.id().runtimeName();
    return fixture.dirs.container(name).exitCode(name);
  }

  /** Mounts go with the kernel, and the run directory with the memory it is in. */
  private void loseWhatIsInMemory() throws Exception {
    List<Path> mounts =
        Mounts.list().stream()
            .map(Mounts.MountPoint::target)
            .filter(target -> target.startsWith(directory))
            .sorted(Comparator.reverseOrder())
            .toList();
    for (Path mount : mounts) {
      Mounts.detach(mount);
    }
    RootedDirectory.removeTree(fixture.dirs.run());
  }
}
