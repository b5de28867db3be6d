package dev.zlayer.runtime.wsl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.FileSystemSpec;
import dev.zlayer.container.GpuRequest;
import dev.zlayer.container.Mount;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.container.Resources;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Container;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.wsl.StandInWsl;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** What a container in a distribution sees of Windows, of its image and of the distribution. */
@Requires(
    value = {Fact.ROOT, Fact.RUNC, Fact.CONMON, Fact.BUSYBOX, Fact.OVERLAYFS},
    programs = {"unshare", "nsenter", "iconv"})
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class WslIT {
  private StandInWsl wsl;
  private WslStage fixture;

  @BeforeAll
  void open(@TempDir Path directory) throws Exception {
    wsl = StandInWsl.open(directory);
    fixture = WslStage.open(wsl);
  }

  @AfterAll
  void close() throws Exception {
    try (var _ = wsl) {
      fixture.tearDown();
      WslStage.assertNothingLeft(wsl);
    }
  }

  @Test
  void drivesOfWindowsAndDirectoriesOfTheDistributionAreMounted() throws Exception {
    Path data = Files.createDirectories(wsl.windows().resolve("My Data").resolve("it's"));
    Files.writeString(data.resolve("file"), "of Windows");
    wsl.inside("mkdir -p /srv/own; echo of Linux >/srv/own/file");
    var mounts =
        FileSystemSpec.of(
            new Mount.Bind(Path.of("C:\\My Data\\it's"), "/windows", true),
            new Mount.Bind(Path.of("\\\\wsl.localhost\\Debian\\srv\\own"), "/linux", false));
    String output =
        fixture.output(
            WslStage.script(
                    "cat /windows/file; echo; cat /linux/file; echo back >/linux/new;"
                        + "echo x >/windows/file || echo read-only")
                .withFileSystem(mounts));
    assertThat(output).startsWith("of Windows\nof Linux\n").contains("read-only");
    assertThat(wsl.inside("cat /srv/own/new")).isEqualTo("back\n");
    assertThat(data.resolve("file")).hasContent("of Windows");
    var absent = FileSystemSpec.of(new Mount.Bind(Path.of("D:\\nowhere"), "/x", false));
    assertThatThrownBy(
            () -> fixture.runtime.create(WslStage.id(), WslStage.script("").withFileSystem(absent)))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("there is no /mnt/d/nowhere in the WSL distribution 'Debian'");
  }

  @Test
  void aSessionThatIsClosedAtOnceLeavesNoProcess() throws Exception {
    Container container = fixture.runtime.create(WslStage.id(), WslStage.script("sleep 300"));
    try {
      container.start();
      for (int round = 0; round < 5; round++) {
        container.exec(ExecSpec.of("sleep", "4343")).close();
      }
      assertThat(wsl.inside("ps -eo args")).doesNotContain("sleep 4343");
    } finally {
      container.remove(true);
    }
  }

  @Test
  void volumesAreFilledFromTheImageAndOutliveTheContainer() throws Exception {
    ImageRef image = ImageRef.parse("localhost/filled:1");
    WslStage.load(
        fixture.store,
        ImageMaker.busybox()
            .layer(
                TarEntry.directory("data").withOwner(7, 8),
                TarEntry.file("data/first", "from the image").withOwner(7, 8),
                TarEntry.symlink("outside", "/etc"))
            .make(),
        image);
    var mounts =
        FileSystemSpec.of(
            new Mount.Named("kept", "/data", false), new Mount.Named("empty", "/outside", false));
    ContainerSpec spec =
        new ContainerSpecs(image)
            .script(
                "cat /data/first; stat -c ' %u:%g' /data; test -e /outside/passwd || echo nothing"
                    + " of the distribution; echo more >/data/second")
            .withFileSystem(mounts);
    assertThat(fixture.output(spec)).isEqualTo("from the image 7:8\nnothing of the distribution");
    assertThat(
            fixture.output(new ContainerSpecs(image).script("cat /data/*").withFileSystem(mounts)))
        .isEqualTo("from the imagemore");
  }

  /** Names a spec by the image and a script. */
  private record ContainerSpecs(ImageRef image) {
    ContainerSpec script(String script) {
      return ContainerSpec.of(image)
          .withNetwork(NetworkSpec.NONE)
          .withProcess(ProcessSpec.DEFAULT.withEntrypoint("/bin/sh", "-c", script));
    }
  }

  @Test
  void layersHideWhatIsBelowThem() throws Exception {
    ImageRef image = ImageRef.parse("localhost/layered:1");
    WslStage.load(
        fixture.store,
        ImageMaker.busybox()
            .layer(
                TarEntry.file("gone", "x"),
                TarEntry.directory("opaque"),
                TarEntry.file("opaque/below", "x"),
                TarEntry.directory("again"),
                TarEntry.file("again/below", "x"),
                TarEntry.file("both", "below"))
            .layer(
                TarEntry.whiteout("gone"),
                TarEntry.directory("opaque").withMode(0711),
                TarEntry.opaque("opaque"),
                TarEntry.file("opaque/above", "x"),
                TarEntry.whiteout("again"),
                TarEntry.directory("again"),
                TarEntry.file("both", "above"),
                TarEntry.whiteout("both"),
                TarEntry.file("näme 'q' \\x", "odd").withMode(04711).withOwner(3, 4),
                TarEntry.hardLink("linked", "opaque/above"))
            .make(),
        image);
    String output =
        fixture.output(
            new ContainerSpecs(image)
                .script(
                    "ls -d /gone 2>/dev/null; ls /opaque /again; cat /both; echo;"
                        + "stat -c '%a %u:%g %n' /n*; stat -c %a /opaque; stat -c %h /linked"));
    assertThat(output)
        .isEqualTo("/again:\n\n/opaque:\nabove\nabove\n4711 3:4 /näme 'q' \\x\n711\n2");
  }

  @Test
  void aLayerThatIsNotWhatTheImageSaysIsRefused() throws Exception {
    ImageRef image = ImageRef.parse("localhost/false:1");
    WslStage.load(
        fixture.store, ImageMaker.busybox().layer(TarEntry.file("honest", "yes")).make(), image);
    var layer = fixture.store.images().find(image).orElseThrow().layers().getLast();
    Path blob = fixture.dirs.imageBlobs().resolve("sha256").resolve(layer.digest().hex());
    var other = ImageMaker.busybox().layer(TarEntry.file("honest", "no!")).make();
    byte[] before = Files.readAllBytes(blob);
    Files.delete(blob);
    Files.write(blob, other.layers().getLast().blob().bytes());
    try {
      assertThatThrownBy(
              () -> fixture.runtime.create(WslStage.id(), new ContainerSpecs(image).script("")))
          .isInstanceOf(AgentException.CreateFailed.class)
          .hasMessageContaining("is not what the image says");
    } finally {
      Files.write(blob, before);
    }
    assertThat(fixture.output(new ContainerSpecs(image).script("cat /honest"))).isEqualTo("yes");
  }

  @Test
  void aGpuIsThereOrTheContainerIsNot() throws Exception {
    var wanted = new GpuRequest(1, "nvidia", Optional.empty(), new GpuRequest.Sharing.Exclusive());
    ContainerSpec spec =
        WslStage.script("test -c /dev/dxg && cat /usr/lib/wsl/lib/* && echo $LD_LIBRARY_PATH")
            .withGpu(wanted);
    assertThatThrownBy(() -> fixture.runtime.create(WslStage.id(), spec))
        .isInstanceOf(AgentException.WslGpuUnavailable.class)
        .hasMessageContaining("/dev/dxg is missing");
    wsl.addGpu();
    assertThat(fixture.output(spec)).isEqualTo("driver\n/usr/lib/wsl/lib");
  }

  @Test
  void whatCannotBeHonouredIsRefusedWithTheReason() {
    assertThatThrownBy(
            () ->
                fixture.runtime.create(
                    WslStage.id(), WslStage.script("").withNetwork(NetworkSpec.DEFAULT)))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("runtime 'wsl': a bridge network: give it the network 'host'");
    assertThat(fixture.runtime.list()).isEmpty();
  }

  @Test
  void hostNetworkUsersAndLimitsAreReal() throws Exception {
    ContainerSpec spec =
        WslStage.script("id -u; ulimit -n; cat /proc/net/dev | wc -l; hostname; sleep 1000")
            .withNetwork(NetworkSpec.of(new NetworkSpec.Mode.Host()).withHostname("inside"))
            .withResources(Resources.DEFAULT.withMemory(64 << 20).withPids(50));
    Container container = fixture.runtime.create(WslStage.id(), spec);
    try {
      container.start();
      var stats = container.stats();
      assertThat(stats.memoryLimitBytes()).hasValue(64 << 20);
      assertThat(stats.pidsLimit()).hasValue(50);
      assertThatThrownBy(
              () ->
                  container.exec(
                      new ExecSpec(
                          java.util.List.of("sh"),
                          Map.of(),
                          Optional.empty(),
                          Optional.empty(),
                          false,
                          true,
                          false,
                          Optional.empty())))
          .isInstanceOf(AgentException.Unsupported.class)
          .hasMessageContaining("a terminal");
    } finally {
      container.remove(true);
    }
  }

  @Test
  void killingForWantOfMemoryIsTold() throws Exception {
    Container container =
        fixture.runtime.create(
            WslStage.id(),
            WslStage.script("x=0123456789abcdef; while :; do x=$x$x; done")
                .withResources(Resources.DEFAULT.withMemory(16 << 20)));
    try {
      container.start();
      Outcome outcome =
          container.await(WaitCondition.NOT_RUNNING, Deadline.after(WslStage.TIMEOUT));
      assertThat(outcome.status()).isEqualTo(new ExitStatus.OutOfMemory());
    } finally {
      container.remove(true);
    }
  }

  @Test
  void logsAndOutcomesAreReadWhileTheDistributionDoesNotStart() throws Exception {
    Container container =
        fixture.runtime.create(WslStage.id(), WslStage.script("echo said; exit 3"));
    try {
      container.start();
      container.await(WaitCondition.NOT_RUNNING, Deadline.after(WslStage.TIMEOUT));
      wsl.refuseToStart(true);
      assertThat(WslStage.text(container)).isEqualTo("said");
      assertThat(container.inspect().status().phase().toString()).isEqualToIgnoringCase("exited");
      assertThatThrownBy(container::start)
          .isInstanceOf(AgentException.class)
          .hasMessageContaining("The distribution failed to start.");
    } finally {
      wsl.refuseToStart(false);
      container.remove(true);
    }
  }
}
