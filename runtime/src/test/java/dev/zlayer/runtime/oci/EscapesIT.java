package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.FileSystemSpec;
import dev.zlayer.container.GpuRequest;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.container.Mount;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Archivable;
import dev.zlayer.port.Container;
import dev.zlayer.port.ProcessListing;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Ways out of containers that others' engines once had, tried on this one. */
class EscapesIT extends OnStage {
  private Path secret;

  @BeforeAll
  void hideSomething() throws Exception {
    secret = Files.writeString(directory.resolve("secret"), "of the host");
  }

  /** runc 2024: a process that began in a descriptor of the host's root. */
  @Test
  void noDescriptorReachesAFurtherProcess() throws Exception {
    Container container = running(RuntimeFixture.spec("sleep", "60"));
    try {
      assertThat(Runs.exec(container, "sh", "-c", "for f in /proc/$$/fd/*; do readlink $f; done"))
          .matches("((pipe|socket):\\[\\d+\\]\\s?|/dev/null\\s?|/proc/\\d+/fd\\s?)*");
      assertThat(
              Runs.exec(
                  container, "sh", "-c", "cat /proc/1/fd/*/../../etc/shadow 2>/dev/null; echo end"))
          .isEqualTo("end");
    } finally {
      container.remove(true);
    }
  }

  /** Linux 2022 and many engines before: a program of the host that the kernel runs for a group. */
  @Test
  void aControlGroupCannotRunAProgramOfTheHost() throws Exception {
    String script =
        "for d in /sys/fs/cgroup /sys/fs/cgroup/*; do"
            + " for f in release_agent cgroup.procs devices.allow memory.limit_in_bytes; do"
            + "  [ -e $d/$f ] && echo x > $d/$f && echo \"wrote $d/$f\"; done; done 2>/dev/null;"
            + " mkdir /tmp/g; for t in cgroup cgroup2; do mount -t $t x /tmp/g 2>/dev/null &&"
            + " echo mounted $t; done; echo end";
    assertThat(fixture.output(RuntimeFixture.script(script))).isEqualTo("end");
  }

  @Test
  void devicesThatAContainerMakesCannotBeOpened() throws Exception {
    String script =
        "for d in 'b 254 0' 'b 8 0' 'b 7 0' 'c 1 1' 'c 1 2' 'c 1 4' 'c 1 11' 'c 10 130'"
            + " 'c 10 229' 'c 10 237' 'b 253 0'; do rm -f /n; mknod /n $d &&"
            + " (: < /n) 2>/dev/null && echo opened $d; (: > /n) 2>/dev/null && echo opened $d;"
            + " done; echo end";
    assertThat(fixture.output(RuntimeFixture.script(script)))
        .endsWith("end")
        .doesNotContain("opened");
  }

  /** Kubernetes 2020: files in /etc that lie on the host's disk and have no limit there. */
  @Test
  void whoMayWriteNowhereWritesNoFileOfTheHostEither() throws Exception {
    String script =
        "for f in hosts resolv.conf hostname; do echo x 2>/dev/null >> /etc/$f && echo wrote $f;"
            + " done; head -c 0 /etc/hosts && echo end";
    assertThat(
            fixture.output(
                RuntimeFixture.script(script).withFileSystem(new FileSystemSpec(List.of(), true))))
        .endsWith("end")
        .doesNotContain("wrote");
  }

  /** Docker 2018 and Kubernetes 2017 to 2021: a link where a copy or a mount was on its way. */
  @Test
  void linksOfVolumesAreFollowedInsideOnly() throws Exception {
    var volume = new Mount.Named("swapped", "/data", false);
    fixture.run(
        RuntimeFixture.script(
                "ln -s "
                    + directory
                    + " /data/out; ln -s "
                    + secret
                    + " /data/file;"
                    + " ln -s /proc/1/root /data/root; mkdir /data/dir")
            .withFileSystem(FileSystemSpec.of(volume)));
    Path source = Files.createDirectory(directory.resolve("bound"));
    Container below =
        fixture.runtime.create(
            RuntimeFixture.id(),
            RuntimeFixture.spec("true")
                .withFileSystem(
                    FileSystemSpec.of(volume, new Mount.Bind(source, "/data/out/in", false))));
    try {
      below.start();
      Runs.end(below);
    } catch (AgentException.StartFailed _) {
      // crun refuses such a target where runc makes it inside
    } finally {
      below.remove(true);
    }
    assertThat(directory.resolve("in")).doesNotExist();
    Container container =
        running(RuntimeFixture.spec("sleep", "60").withFileSystem(FileSystemSpec.of(volume)));
    try {
      var files = (Archivable) container;
      for (String path : List.of("/data/file", "/data/out/secret", "/data/root" + secret)) {
        var tar = new ByteArrayOutputStream();
        try {
          files.copyOut(path, tar);
        } catch (AgentException _) {
          // absent inside, as it should be
        }
        assertThat(tar.toString(StandardCharsets.ISO_8859_1))
            .as(path)
            .doesNotContain("of the host");
      }
      byte[] archive = TarWriter.archive(List.of(TarEntry.file("planted", "x")));
      for (String path : List.of("/data/out", "/data/root" + directory)) {
        try {
          files.copyIn(path, new ByteArrayInputStream(archive));
        } catch (AgentException _) {
          // absent inside
        }
        assertThat(directory.resolve("planted")).as(path).doesNotExist();
      }
    } finally {
      container.remove(true);
    }
  }

  /** NVIDIA 2025: LD_PRELOAD of an image in a hook that runs as root on the host. */
  @Test
  void variablesOfAnImageDoNotReachHooks() throws Exception {
    Path hook = directory.resolve("hook");
    Path seen = directory.resolve("seen");
    Path files = directory.resolve("files");
    Files.writeString(
        hook,
        "#!/bin/sh\nenv >>%s\nfor f in /proc/$$/fd/*; do readlink $f; done >>%s; exit 0\n"
            .formatted(seen, files));
    Files.setPosixFilePermissions(hook, PosixFilePermissions.fromString("rwxr-xr-x"));
    Path specs = Files.createDirectory(directory.resolve("cdi"));
    var hooks = new ArrayList<String>();
    for (String point : List.of("prestart", "createRuntime", "createContainer", "poststart")) {
      hooks.add("{hookName: %s, path: %s, args: [hook]}".formatted(point, hook));
    }
    Files.writeString(
        specs.resolve("gpu.yaml"),
        """
        cdiVersion: 0.5.0
        kind: nvidia.com/gpu
        devices:
        - name: "0"
          containerEdits: {deviceNodes: [{path: /dev/gpu, hostPath: /dev/null}], hooks: [%s]}
        """
            .formatted(String.join(", ", hooks)));
    OciSettings settings = OciSettings.DEFAULT.withGpus(List.of(specs), specs);
    RuntimeFixture gpus = RuntimeFixture.open(directory.resolve("gpus"), settings, Faults.NONE);
    try {
      var image = ImageRef.parse("localhost/preload:test");
      gpus.load(
          ImageMaker.busybox().env("LD_PRELOAD", "/evil.so").env("PATH", "/evil:/bin").make(),
          image);
      var request =
          new GpuRequest(1, "nvidia", Optional.empty(), new GpuRequest.Sharing.Exclusive());
      assertThat(
              gpus.output(
                  ContainerSpec.of(image)
                      .withNetwork(NetworkSpec.NONE)
                      .withGpu(request)
                      .withProcess(ProcessSpec.DEFAULT.withArgs("/bin/sh", "-c", "echo ran"))))
          .contains("ran");
      assertThat(Files.readAllLines(files))
          .as("no descriptor of the agent, its monitor or the OCI runtime")
          .isNotEmpty()
          .allMatch(file -> file.matches("pipe:.*|/dev/null|" + hook + "|" + files));
      assertThat(Files.readString(seen))
          .contains("PATH=")
          .doesNotContain("evil")
          .doesNotContain("LD_PRELOAD");
    } finally {
      gpus.tearDown();
    }
  }

  /** conmon, CRI-O and the kubelet: lines that pass for others in the file of a log. */
  @Test
  void outputCannotPassForOtherLinesOfTheLog() throws Exception {
    Container container =
        fixture.runtime.create(
            RuntimeFixture.id(),
            RuntimeFixture.script(
                "printf 'a\\r2026-01-01T00:00:00Z stderr F forged\\n';"
                    + "printf '2026-01-01T00:00:00.000000000+00:00 stderr F forged\\n'"));
    try {
      container.start();
      Runs.end(container);
      var lines = new ArrayList<LogRecord>();
      try (var reader = container.logs(LogQuery.ALL)) {
        for (Optional<LogRecord> line = reader.next(); line.isPresent(); line = reader.next()) {
          lines.add(line.get());
        }
      }
      assertThat(lines).hasSize(2);
      assertThat(lines)
          .allMatch(line -> line.text().contains("forged"))
          .allMatch(line -> line.stream() == LogRecord.Stream.STDOUT);
    } finally {
      container.remove(true);
    }
  }

  /** runc 2025: links in place of what is masked, and of the console. */
  @Test
  void linksInDevDoNotMoveMasksAndConsoles() throws Exception {
    var image = ImageRef.parse("localhost/masks:test");
    fixture.load(
        ImageMaker.busybox()
            .layer(
                TarEntry.directory("dev"),
                TarEntry.symlink("dev/null", "/proc/sys/kernel/core_pattern"),
                TarEntry.symlink("dev/console", "/proc/sys/kernel/core_pattern"),
                TarEntry.symlink("dev/pts", "/proc/sys"))
            .make(),
        image);
    var spec =
        ContainerSpec.of(image)
            .withNetwork(NetworkSpec.NONE)
            .withProcess(
                ProcessSpec.DEFAULT
                    .withArgs(
                        "/bin/sh",
                        "-c",
                        "test -c /dev/null && stat -c '%t:%T' /dev/null;"
                            + " wc -c < /proc/timer_list;"
                            + " (echo x > /proc/sys/kernel/core_pattern) 2>/dev/null || echo shut")
                    .withTerminal(true));
    assertThat(fixture.output(spec).replace("\r", "")).isEqualTo("1:3\n0\nshut");
  }

  /** containerd 2022: content of the host in the volume of an image. */
  @Test
  void volumesOfAnImageHoldNothingOfTheHost() throws Exception {
    var image = ImageRef.parse("localhost/volumes:test");
    fixture.load(
        ImageMaker.busybox()
            .layer(TarEntry.symlink("vol", directory.toString()))
            .volume("/vol")
            .volume("/../../../../../../.." + directory)
            .make(),
        image);
    assertThat(
            fixture.output(
                ContainerSpec.of(image)
                    .withNetwork(NetworkSpec.NONE)
                    .withProcess(
                        ProcessSpec.DEFAULT.withArgs(
                            "/bin/sh", "-c", "ls /vol " + directory + "; echo end"))))
        .endsWith("end")
        .doesNotContain("secret");
  }

  /** podman 2020: what an image has at the place of a volume was copied over what was in it. */
  @Test
  void contentOfAnImageReplacesNothingInAVolume() throws Exception {
    var image = ImageRef.parse("localhost/content:test");
    fixture.load(
        ImageMaker.busybox()
            .layer(TarEntry.file("data/kept", "of the image"), TarEntry.file("data/more", "x"))
            .make(),
        image);
    var volume = FileSystemSpec.of(new Mount.Named("has-content", "/data", false));
    fixture.run(RuntimeFixture.script("echo of the user > /data/kept").withFileSystem(volume));
    assertThat(
            fixture
                .output(
                    ContainerSpec.of(image)
                        .withNetwork(NetworkSpec.NONE)
                        .withFileSystem(volume)
                        .withProcess(
                            ProcessSpec.DEFAULT.withArgs(
                                "/bin/sh", "-c", "cat /data/kept; ls /data")))
                .strip())
        .isEqualTo("of the user\nkept");
  }

  /** podman 2021: a further process of a user other than root had capabilities. */
  @Test
  void usersOtherThanRootHaveNoCapabilities() throws Exception {
    String none = "0".repeat(16);
    String script = "awk '/^Cap(Eff|Prm|Inh|Amb)/ {print $2}' /proc/self/status | uniq";
    var spec = RuntimeFixture.spec("sleep", "60");
    assertThat(
            fixture
                .output(
                    RuntimeFixture.script(script)
                        .withProcess(RuntimeFixture.script(script).process().withUser("1000")))
                .strip())
        .isEqualTo(none);
    Container container = running(spec.withProcess(spec.process().withUser("1000")));
    try {
      assertThat(Runs.exec(container, "sh", "-c", script)).isEqualTo(none);
      assertThat(Runs.exec(container, ExecSpec.of("sh", "-c", script).withUser("1001:5")))
          .isEqualTo(none);
    } finally {
      container.remove(true);
    }
  }

  /** moby, containerd, CRI-O and podman 2022: what a group may not, its member could. */
  @Test
  void theGroupOfAUserIsAmongItsGroups() throws Exception {
    var spec = RuntimeFixture.script("grep Groups: /proc/self/status");
    assertThat(fixture.output(spec.withProcess(spec.process().withUser("1000:1234"))).strip())
        .isEqualTo("Groups:\t1234");
    assertThat(
            fixture
                .output(
                    spec.withProcess(
                        spec.process().withUser("1000:1234").withExtraGroups(List.of("7"))))
                .strip())
        .isEqualTo("Groups:\t7 1234");
  }

  /** containerd 2024: a number that wraps around to root. */
  @Test
  void aUserBeyondAllNumbersIsRefused() {
    for (String user : List.of("4294967296", "4294967296:0", "0:4294967296", "2147483648000")) {
      var spec = RuntimeFixture.script("id");
      assertThatThrownBy(() -> fixture.run(spec.withProcess(spec.process().withUser(user))))
          .as(user)
          .isInstanceOf(AgentException.InvalidSpec.class);
    }
  }

  /** podman 2022 and Docker 2026: programs of the container that an engine runs for itself. */
  @Test
  void noProgramOfTheImageIsRunForTheHost() throws Exception {
    Path mark = directory.resolve("mark");
    byte[] program =
        "#!/bin/sh\necho x > %s; echo x > /mark\n".formatted(mark).getBytes(StandardCharsets.UTF_8);
    List<TarEntry> programs = new ArrayList<>();
    for (String name : List.of("ps", "nsenter", "tar", "gzip", "unpigz", "xz", "zstd", "find")) {
      for (String place : List.of("bin", "usr/bin", "usr/local/bin")) {
        programs.add(TarEntry.file(place + "/" + name, program).withMode(0755));
      }
    }
    ImageRef image = ImageRef.parse("localhost/programs:test");
    fixture.load(ImageMaker.busybox().layer(programs.toArray(TarEntry[]::new)).make(), image);
    Container container =
        running(
            ContainerSpec.of(image)
                .withNetwork(NetworkSpec.NONE)
                .withProcess(ProcessSpec.DEFAULT.withArgs("/bin/sh", "-c", "echo on; sleep 60")));
    try {
      assertThat(((ProcessListing) container).processes().rows()).isNotEmpty();
      var files = (Archivable) container;
      files.copyOut("/etc", new ByteArrayOutputStream());
      byte[] tar = TarWriter.archive(List.of(TarEntry.file("in", "x")));
      files.copyIn("/tmp", new ByteArrayInputStream(tar));
      var zipped = new ByteArrayOutputStream();
      try (var gzip = new GZIPOutputStream(zipped)) {
        gzip.write(tar);
      }
      assertThatThrownBy(() -> files.copyIn("/tmp", new ByteArrayInputStream(zipped.toByteArray())))
          .isInstanceOf(AgentException.class);
      assertThat(files.changes()).isNotEmpty();
      assertThat(mark).doesNotExist();
      assertThat(Runs.exec(container, "sh", "-c", "test -e /mark || echo none")).isEqualTo("none");
    } finally {
      container.remove(true);
    }
  }

  /** CRI-O 2024: annotations that the OCI runtime takes for its own settings. */
  @Test
  void labelsAreNoSettingsOfTheOciRuntime() throws Exception {
    Map<String, String> settings =
        Map.of(
            "run.oci.handler", "no-such-handler",
            "run.oci.seccomp.receiver", "/no/such/socket",
            "org.systemd.property.TasksMax", "1",
            "org.criu.config", "/no/such/file");
    var labels = new HashMap<>(settings);
    labels.put("org.example.team", "blue");
    Container container = running(RuntimeFixture.spec("sleep", "60").withLabels(labels));
    try (var files = Files.walk(fixture.dirs.container(container.id().runtimeName()).path())) {
      Path config = files.filter(file -> file.endsWith("config.json")).findFirst().orElseThrow();
      Json annotations = JsonText.parse(Files.readAllBytes(config)).at("annotations");
      assertThat(annotations.members().keySet())
          .contains("org.example.team")
          .doesNotContainAnyElementsOf(settings.keySet());
      assertThat(container.inspect().spec().labels()).containsAllEntriesOf(settings);
    } finally {
      container.remove(true);
    }
  }

  /** containerd 2020: whoever shares the network namespace may speak to an abstract socket. */
  @Test
  void nothingListensOnAnAbstractSocket() throws Exception {
    Container container = running(RuntimeFixture.spec("sleep", "60"));
    try {
      assertThat(Files.readAllLines(Path.of("/proc/net/unix")))
          .noneMatch(
              line ->
                  line.contains(" @")
                      && (line.contains(container.id().runtimeName()) || line.contains("zlayer")));
    } finally {
      container.remove(true);
    }
  }

  private Container running(ContainerSpec spec) throws InterruptedException {
    Container container = fixture.runtime.create(RuntimeFixture.id(), spec);
    container.start();
    return container;
  }
}
