package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.FileSystemSpec;
import dev.zlayer.container.Mount;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Container;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What is mounted, seen from inside. */
class MountsIT extends OnStage {
  private static final ImageRef DATA = ImageRef.parse("localhost/data:test");

  @BeforeAll
  void loadImage() throws Exception {
    fixture.load(
        ImageMaker.busybox()
            .layer(
                TarEntry.directory("data").withMode(0750).withOwner(1000, 50),
                TarEntry.file("data/seed", "from the image").withMode(0640).withOwner(1000, 1000))
            .volume("/declared")
            .make(),
        DATA);
  }

  @Test
  void tmpfsHasSizeAndMode() throws Exception {
    var mount = new Mount.Tmpfs("/scratch", OptionalLong.of(1 << 20), OptionalInt.of(0710));
    assertThat(
            output(
                "stat -c %a /scratch; df -k /scratch | tail -1 | awk '{print $2}'; "
                    + "grep ' /scratch ' /proc/mounts",
                mount))
        .startsWith("710\n1024\n")
        .contains("nosuid,nodev,noexec");
  }

  @Test
  void tmpfsIsForEverybodyUnlessAModeIsGiven() throws Exception {
    var mount = new Mount.Tmpfs("/scratch/new", OptionalLong.empty(), OptionalInt.empty());
    assertThat(output("stat -c %a /scratch/new /scratch", mount)).isEqualTo("1777\n755");
  }

  @Test
  void aBindShowsTheHostsFiles() throws Exception {
    Path source = Files.createDirectory(directory.resolve("bound"));
    Files.writeString(source.resolve("note"), "hello");
    assertThat(output("cat /in/note; echo back > /in/reply", new Mount.Bind(source, "/in", false)))
        .isEqualTo("hello");
    assertThat(source.resolve("reply")).hasContent("back\n");
    assertThat(output("touch /in/x", new Mount.Bind(source, "/in", true)))
        .contains("Read-only file system");
    assertThat(output("cat /one", new Mount.Bind(source.resolve("note"), "/one", true)))
        .isEqualTo("hello");
  }

  @Test
  void aMissingSourceIsRefused() {
    assertThatThrownBy(() -> output("true", new Mount.Bind(Path.of("/no/where"), "/in", false)))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("/no/where cannot be mounted");
  }

  @Test
  void oddOrDoubleTargetsAreRefused() {
    var one = new Mount.Anonymous("/a");
    for (Mount bad :
        List.of(
            new Mount.Anonymous("a"), new Mount.Anonymous("/"), new Mount.Anonymous("/b/../a"))) {
      assertThatThrownBy(() -> output("true", one, bad))
          .isInstanceOf(AgentException.InvalidSpec.class);
    }
  }

  @Test
  void aNamedVolumeStartsAsTheImageHasItAndStays() throws Exception {
    var volume = new Mount.Named("kept", "/data", false);
    assertThat(
            output(
                "stat -c '%u %g %a' /data /data/seed; cat /data/seed; echo more > /data/own",
                volume))
        .isEqualTo("1000 50 750\n1000 1000 640\nfrom the image");
    assertThat(
            output(
                "cat /elsewhere/own /elsewhere/seed", new Mount.Named("kept", "/elsewhere", true)))
        .isEqualTo("more\nfrom the image");
    assertThat(output("rm /data/seed; ls /data", volume)).isEqualTo("own");
  }

  @Test
  void anEmptyVolumeInUseKeepsItsDirectory() throws Exception {
    var volume = new Mount.Named("shared", "/srv", false);
    Container first =
        fixture.runtime.create(
            RuntimeFixture.id(),
            spec("until [ -e /srv/second ]; do sleep 0.05; done; echo seen > /srv/first", volume));
    first.start();

    assertThat(output("echo here > /srv/second; ls /srv", volume)).contains("second");
    Runs.end(first);
    first.remove(false);

    assertThat(fixture.dirs.volumes().resolve("shared/first")).hasContent("seen\n");
  }

  @Test
  void anEmptyVolumeInUseIsFilledInPlace() throws Exception {
    Container first =
        fixture.runtime.create(
            RuntimeFixture.id(),
            spec(
                "until [ -e /srv/seed ]; do sleep 0.05; done; cat /srv/seed",
                new Mount.Named("late", "/srv", false)));
    first.start();

    assertThat(
            output("stat -c '%u %g %a' /data /data/seed", new Mount.Named("late", "/data", false)))
        .isEqualTo("1000 50 750\n1000 1000 640");
    Runs.end(first);
    assertThat(RuntimeFixture.text(first)).isEqualTo("from the image");
    first.remove(false);
  }

  @Test
  void aFillThatWasInterruptedIsFinished() throws Exception {
    Path volumes = Files.createDirectories(fixture.dirs.volumes());
    Files.createDirectory(volumes.resolve("half"));
    Files.writeString(volumes.resolve("half/moved"), "moved\n");
    Files.createDirectory(volumes.resolve(".filled-half"));
    Files.writeString(volumes.resolve(".filled-half/left"), "left\n");

    assertThat(output("cat /data/moved /data/left", new Mount.Named("half", "/data", false)))
        .isEqualTo("moved\nleft");
    assertThat(volumes.resolve(".filled-half")).doesNotExist();
  }

  @Test
  void anAnonymousVolumeGoesWithItsContainer() throws Exception {
    Container container =
        fixture.runtime.create(
            RuntimeFixture.id(), spec("cat /data/seed", new Mount.Anonymous("/data")));
    Path volumes = fixture.dirs.volumes().resolve(".anonymous");
    assertThat(volumes.resolve(container.id().runtimeName())).isDirectory();
    container.start();
    Runs.end(container);
    assertThat(RuntimeFixture.text(container)).isEqualTo("from the image");
    container.remove(false);
    assertThat(volumes).isEmptyDirectory();
  }

  @Test
  void volumesOfTheImageAreAnonymousOnes() throws Exception {
    assertThat(output("grep -c ' /declared ' /proc/mounts")).isEqualTo("1");
  }

  @Test
  void innerMountsComeAfterOuterOnes() throws Exception {
    Path source = Files.createDirectories(directory.resolve("outer/inner"));
    assertThat(
            output(
                "grep -c tmpfs.*/in/inner /proc/mounts; ls /in",
                new Mount.Tmpfs("/in/inner", OptionalLong.empty(), OptionalInt.empty()),
                new Mount.Bind(source.getParent(), "/in", false)))
        .contains("inner");
  }

  private String output(String script, Mount... mounts) throws InterruptedException {
    return fixture.output(spec(script, mounts));
  }

  private static ContainerSpec spec(String script, Mount... mounts) {
    return ContainerSpec.of(DATA)
        .withNetwork(NetworkSpec.NONE)
        .withProcess(ProcessSpec.DEFAULT.withArgs("sh", "-c", script))
        .withFileSystem(FileSystemSpec.of(mounts));
  }
}
