package dev.zlayer.runtime.wsl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.GpuRequest;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.runtime.oci.tool.OciCommands;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.wsl.StandInWsl;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Through a stand-in for wsl.exe, in a root of its own; Windows itself is not here. */
@Requires(
    value = {Fact.ROOT, Fact.RUNC, Fact.BUSYBOX},
    programs = {"unshare", "nsenter", "iconv"})
class WslDistributionIT {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  @TempDir Path directory;
  private Path root;
  private StandInWsl wsl;
  private WslDistribution debian;

  @BeforeEach
  void open() {
    wsl = StandInWsl.open(directory);
    root = wsl.root();
    debian = named("Debian");
  }

  @AfterEach
  void close() {
    wsl.close();
  }

  private WslDistribution named(String name) {
    return new WslDistribution(wsl.program().toString(), name, WslDistribution.Quoting.NONE);
  }

  @Test
  void wordsArriveAsTheyAre() throws Exception {
    Files.writeString(root.resolve("only inside"), "x");
    assertThat(debian.test("-e", "/only inside")).isTrue();
    assertThat(debian.test("-e", directory.toString())).isFalse();
    Command command =
        Command.of(
                "/bin/sh",
                "-c",
                "pwd; echo \"$A\"; printf '%s|' \"$@\"",
                "sh",
                "a b",
                "\"q\"",
                "$HOME",
                "")
            .in(Path.of("/etc"))
            .withEnv(Map.of("A", "b c"));
    assertThat(Processes.run(debian.inside(command), Deadline.after(TIMEOUT)).stdout())
        .isEqualTo("/etc\nb c\na b|\"q\"|$HOME||");
  }

  @Test
  void whatIsMissingIsSaidWithTheRemedy() throws Exception {
    debian.require();
    assertThat(WslStatus.of(debian)).isEqualTo(new WslStatus(true, ""));
    assertThatThrownBy(() -> named("Fedora").require())
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("there is Debian, Old, Broken")
        .hasMessageContaining("wsl --install -d Fedora");
    assertThatThrownBy(() -> named("Old").require())
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("wsl --set-version Old 2");
    assertThatThrownBy(() -> named("Broken").require())
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("is stopped and does not start: The distribution failed to start.");
    var absent =
        new WslDistribution(
            directory.resolve("absent.exe").toString(), "Debian", WslDistribution.Quoting.NONE);
    assertThat(WslStatus.of(absent).problem()).contains("wsl --install");
  }

  @Test
  void aGpuThatTheDistributionHasNotIsAnError() {
    var wanted = new GpuRequest(1, "nvidia", Optional.empty(), new GpuRequest.Sharing.Exclusive());
    assertThatThrownBy(() -> WslGpu.of(wanted, debian))
        .isInstanceOf(AgentException.WslGpuUnavailable.class)
        .hasMessageContaining("/dev/dxg");
  }

  /** The OCI runtime's verbs, each through a call of its own, on a real container. */
  @Test
  void aRealContainerRunsInside() throws Exception {
    String name = "zlayer-wsl-" + UUID.randomUUID();
    Path bundle = Files.createDirectories(root.resolve("bundle"));
    Files.createDirectories(bundle.resolve("rootfs/bin"));
    Files.copy(Path.of("/bin/busybox"), bundle.resolve("rootfs/bin/sh"));
    Files.writeString(bundle.resolve("config.json"), config(name));
    var runc =
        new OciCommands(
            Path.of("runc"), Path.of("/state"), false, TIMEOUT, new WslTransport(debian));
    assertThat(runc.state(name)).isEqualTo("unknown");
    try {
      var created =
          debian.run(
              Deadline.after(TIMEOUT),
              "/bin/sh",
              "-c",
              "exec runc --root /state create --bundle /bundle \"$0\" >/output 2>&1 </dev/null",
              name);
      assertThat(created.success()).as(output()).isTrue();
      assertThat(runc.state(name)).isEqualTo("created");
      assertThat(Path.of("/state").resolve(name)).as("not on this side").doesNotExist();
      runc.start(name);
      Awaitility.await().atMost(TIMEOUT).until(() -> runc.state(name).equals("stopped"));
      assertThat(output()).isEqualTo("from inside\n");
    } finally {
      runc.delete(name);
    }
    assertThat(runc.knows(name)).isFalse();
  }

  private String output() throws Exception {
    Path output = root.resolve("output");
    return Files.exists(output) ? Files.readString(output) : "";
  }

  private static String config(String name) {
    return """
    {"ociVersion": "1.0.2",
     "process": {"user": {"uid": 0, "gid": 0}, "cwd": "/",
       "args": ["/bin/sh", "-c", "echo from inside"]},
     "root": {"path": "rootfs"},
     "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}],
     "linux": {"cgroupsPath": "/%s", "namespaces": [{"type": "mount"}, {"type": "pid"},
       {"type": "ipc"}, {"type": "uts"}, {"type": "network"}]}}
    """
        .formatted(name);
  }
}
