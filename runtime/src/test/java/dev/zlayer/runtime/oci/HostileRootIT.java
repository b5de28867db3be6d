package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.FileSystemSpec;
import dev.zlayer.container.Mount;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Container;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Images whose own files are traps for whoever prepares a root file system on the host. */
class HostileRootIT extends OnStage {
  private static final ExitStatus OK = new ExitStatus.Code(0);
  private static final String RELATIVE = "../../../../../../../../..";
  private static final AtomicInteger IMAGES = new AtomicInteger();

  /** What a link of an image points to: a directory of the host with files that runtimes touch. */
  private Path host;

  @BeforeAll
  void makeAHost() throws Exception {
    host = Files.createDirectory(directory.resolve("host"));
  }

  @Test
  void noPathOfTheImageIsFollowedOnTheHost() throws Exception {
    for (List<String> paths :
        List.of(
            List.of("dev", "proc", "sys", "etc", "in", "scratch", "work"),
            List.of("etc/hosts", "etc/hostname", "etc/resolv.conf", "in/deep", "work/dir"),
            List.of("dev/shm", "dev/pts", "dev/ptmx", "dev/null", "sys/fs", "proc/self"))) {
      for (String target : List.of(host.toString(), RELATIVE + host, host + "/file")) {
        for (boolean lower : List.of(true, false)) {
          ImageRef image = image(links(paths, target), lower);
          prepareHost();
          ExitStatus status = fixture.run(withMounts(image)).status();
          assertThat(status).as("%s -> %s", paths, target).isEqualTo(OK);
          assertHostUntouched(paths + " -> " + target);
        }
      }
    }
  }

  @Test
  void linksMadeBetweenCreateAndStartAreNotFollowedEither() throws Exception {
    for (String target : List.of(host.toString(), RELATIVE + host, host + "/file")) {
      prepareHost();
      Container container =
          fixture.runtime.create(RuntimeFixture.id(), withMounts(RuntimeFixture.BUSYBOX));
      try {
        swapAndStart(container, target, "etc/hosts", "etc/hostname", "etc/resolv.conf");
        swapAndStart(container, target, "in/deep/er", "in/deep", "work/dir");
        swapAndStart(container, target, "dev", "proc", "sys", "etc", "in", "scratch", "work");
      } finally {
        container.remove(true);
      }
    }
  }

  private void swapAndStart(Container container, String target, String... paths) throws Exception {
    Path root = fixture.dirs.snapshots().resolve(container.id().runtimeName()).resolve("root");
    String what = List.of(paths) + " -> " + target;
    for (String path : paths) {
      RootedDirectory.removeTree(root.resolve(path));
      Files.createSymbolicLink(root.resolve(path), Path.of(target));
    }
    container.start();
    assertThat(Runs.end(container)).as(what).isEqualTo(OK);
    assertHostUntouched(what);
  }

  @Test
  void ordinaryLinksOfAnImageAreFollowedInside() throws Exception {
    ImageRef image =
        image(
            List.of(
                TarEntry.directory("var"),
                TarEntry.directory("real"),
                TarEntry.symlink("var/run", "../run"),
                TarEntry.symlink("loose", "/not/yet"),
                TarEntry.symlink("etc", "real"),
                TarEntry.file("real/passwd", "root:x:0:0::/:/bin/sh\n")),
            false);
    Path source = Files.createDirectories(directory.resolve("source-links"));
    Files.writeString(source.resolve("note"), "hello\n");
    var spec =
        spec(image, "cat /run/a/note /not/yet/note /run/b; grep -c localhost /real/hosts; pwd -P")
            .withFileSystem(
                FileSystemSpec.of(
                    new Mount.Bind(source, "/var/run/a", false),
                    new Mount.Bind(source, "/loose", true),
                    new Mount.Bind(source.resolve("note"), "/var/run/b", true)));
    assertThat(fixture.output(spec.withProcess(spec.process().withWorkdir("/var/run/made"))))
        .isEqualTo("hello\nhello\nhello\n2\n/run/made");
  }

  @Test
  void whatCannotBeAPlaceIsRefusedWithItsReason() throws Exception {
    ImageRef image =
        image(
            List.of(
                TarEntry.symlink("loop", "loop"),
                TarEntry.symlink("root", "/"),
                TarEntry.symlink("kernel", "/proc/self"),
                TarEntry.symlink("fd", "dev/fd"),
                TarEntry.file("plain", "x")),
            false);
    for (var target : List.of("/loop", "/loop/x", "/root", "/kernel", "/kernel/attr", "/plain/x")) {
      var spec =
          spec(image, "true")
              .withFileSystem(FileSystemSpec.of(new Mount.Bind(host, target, false)));
      assertThatThrownBy(() -> fixture.run(spec))
          .as(target)
          .isInstanceOf(AgentException.InvalidSpec.class)
          .hasMessageContaining("mount target '" + target + "'");
    }
    for (var workdir :
        List.of("/proc/self/fd/7", "/dev/fd/7", "/kernel/fd/8", "/fd/3", "/plain", "/loop")) {
      var spec = spec(image, "true");
      assertThatThrownBy(() -> fixture.run(spec.withProcess(spec.process().withWorkdir(workdir))))
          .as(workdir)
          .isInstanceOf(AgentException.InvalidSpec.class)
          .hasMessageContaining("working directory '");
    }
  }

  @Test
  void aFurtherProcessCannotBeginInADescriptor() throws Exception {
    Container container =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.spec("sleep", "60"));
    try {
      container.start();
      assertThatThrownBy(
              () -> container.exec(ExecSpec.of("true").withWorkdir("/proc/self/fd/7")).close())
          .isInstanceOf(AgentException.InvalidSpec.class)
          .hasMessageContaining("is in /proc");
    } finally {
      container.remove(true);
    }
  }

  /** Descriptors of the agent, its monitor or its runtime would be ways out. */
  @Test
  void noDescriptorReachesAContainer() throws Exception {
    assertThat(fixture.output(RuntimeFixture.script("for f in /proc/1/fd/*; do readlink $f; done")))
        .matches("(?s)(pipe:\\[\\d+\\]\n?|socket:\\[\\d+\\]\n?|/dev/null\n?)*");
  }

  /** The device is there, and nobody on the host opens it. */
  @Test
  void filesOfUsersAreOnlyReadWhenTheyAreFiles() throws Exception {
    ImageRef image =
        image(
            List.of(TarEntry.directory("etc"), TarEntry.characterDevice("etc/passwd", 1, 5)),
            false);
    assertThatThrownBy(() -> fixture.run(spec(image, "true")))
        .hasMessageContaining("/etc/passwd in the image is not a regular file");
    byte[] much = "x".repeat(5 << 20).getBytes(StandardCharsets.UTF_8);
    ImageRef large =
        image(List.of(TarEntry.directory("etc"), TarEntry.file("etc/group", much)), false);
    assertThatThrownBy(() -> fixture.run(spec(large, "true")))
        .hasMessageContaining("/etc/group")
        .hasMessageContaining("over 4194304 bytes");
  }

  private ContainerSpec withMounts(ImageRef image) throws IOException {
    Path source = Files.createDirectories(directory.resolve("source"));
    ContainerSpec spec = spec(image, "true");
    return spec.withProcess(spec.process().withWorkdir("/work/dir"))
        .withFileSystem(
            FileSystemSpec.of(
                new Mount.Bind(source, "/in/deep/er", false),
                new Mount.Tmpfs("/scratch", OptionalLong.empty(), OptionalInt.empty())));
  }

  private static ContainerSpec spec(ImageRef image, String script) {
    return ContainerSpec.of(image)
        .withNetwork(NetworkSpec.NONE)
        .withProcess(ProcessSpec.DEFAULT.withArgs("/bin/sh", "-c", script));
  }

  private static List<TarEntry> links(List<String> paths, String target) {
    var entries = new ArrayList<TarEntry>();
    for (String path : paths) {
      if (path.contains("/")) {
        entries.add(TarEntry.directory(path.substring(0, path.indexOf('/'))));
      }
      entries.add(TarEntry.symlink(path, target));
    }
    return entries;
  }

  private ImageRef image(List<TarEntry> entries, boolean lower) throws Exception {
    var name = ImageRef.parse("localhost/hostile:" + IMAGES.incrementAndGet());
    var maker = ImageMaker.busybox().layer(entries);
    if (lower) {
      maker.layer(TarEntry.file("above", "x"));
    }
    fixture.load(maker.make(), name);
    return name;
  }

  private void prepareHost() throws IOException {
    RootedDirectory.removeTree(host);
    Files.createDirectory(host);
    for (String name : List.of("ptmx", "file", "console", "hosts", "hostname", "resolv.conf")) {
      Files.writeString(host.resolve(name), "of the host");
    }
  }

  private void assertHostUntouched(String what) throws IOException {
    try (var found = Files.list(host)) {
      assertThat(found.map(path -> path.getFileName().toString()))
          .as(what)
          .containsExactlyInAnyOrder("ptmx", "file", "console", "hosts", "hostname", "resolv.conf");
    }
    try (var found = Files.list(host)) {
      for (Path file : found.toList()) {
        assertThat(Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)).as(what).isTrue();
        assertThat(file).as(what).hasContent("of the host");
      }
    }
  }
}
