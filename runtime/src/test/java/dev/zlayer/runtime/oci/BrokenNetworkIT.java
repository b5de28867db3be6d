package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.NetworkSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A network plugin that fails, hangs or talks nonsense while a container is made. Each case has a
 * bridge of its own: only the first container of a network needs the plugin.
 */
@Requires({Fact.ROOT, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX, Fact.OVERLAYFS})
class BrokenNetworkIT {
  private static final Path REAL_PLUGINS = Path.of("/usr/lib/cni");

  /** Long enough for a plugin that works on a busy machine. */
  private static final Duration PATIENT = Duration.ofSeconds(60);

  @TempDir private Path directory;
  @TempDir private Path tools;
  private Path mode;
  private RuntimeFixture fixture;

  @BeforeEach
  void makePlugin() throws Exception {
    mode = Files.writeString(tools.resolve("mode"), "none\n");
    Path plugin = tools.resolve("bridge");
    Files.writeString(
        plugin,
        """
        #!/bin/sh
        read -r act < %s
        [ $CNI_COMMAND = ADD ] || act=none
        case $act in
          fail) echo '{"code": 11, "msg": "no more cable"}'; exit 7;;
          late) %2$s/bridge >/dev/null; echo "fell over" >&2; exit 3;;
          hang) exec sleep 1000;;
          garbage) echo '}{ nonsense'; exit 0;;
        esac
        exec %2$s/bridge
        """
            .formatted(mode, REAL_PLUGINS));
    Files.setPosixFilePermissions(plugin, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  /** An agent whose plugins have that long. */
  private void open(Duration limit) throws Exception {
    if (fixture != null) {
      fixture.close();
    }
    fixture =
        RuntimeFixture.open(
            directory,
            OciSettings.DEFAULT,
            Faults.NONE,
            RuntimeFixture.networks(directory)
                .withPluginDirectories(tools, REAL_PLUGINS)
                .withPluginTimeout(limit));
  }

  @AfterEach
  void nothingIsLeft() throws Exception {
    Files.writeString(mode, "none\n");
    try {
      for (Container container : fixture.runtime.list()) {
        container.remove(true);
      }
      fixture.networks.settle(Deadline.after(RuntimeFixture.TIMEOUT));
      new Leaks(directory).assertNone();
    } finally {
      fixture.tearDown();
    }
  }

  @ParameterizedTest
  @CsvSource({
    "fail, cni plugin bridge exited with 7 on ADD: no more cable",
    "late, cni plugin bridge exited with 3 on ADD: fell over",
    "hang, running bridge",
    "garbage, printed no result: }{ nonsense"
  })
  void theContainerIsNotMadeAndCanBeMadeLater(String act, String words) throws Exception {
    open(act.equals("hang") ? Duration.ofSeconds(2) : PATIENT);
    Files.writeString(mode, act + "\n");
    var id = RuntimeFixture.id();
    var spec = RuntimeFixture.spec("sleep", "300").withNetwork(NetworkSpec.DEFAULT);
    assertThatThrownBy(() -> fixture.runtime.create(id, spec))
        .isInstanceOf(AgentException.class)
        .hasMessageContaining(words);
    assertThat(fixture.runtime.list()).isEmpty();
    Files.writeString(mode, "none\n");
    if (act.equals("hang")) {
      open(PATIENT);
    }
    fixture.networks.settle(Deadline.after(RuntimeFixture.TIMEOUT));
    new Leaks(directory).assertNone();

    Container container = fixture.runtime.create(id, spec);
    container.start();
    assertThat(Runs.exec(container, "ip", "addr"))
        .contains(container.ip().orElseThrow().getHostAddress());
  }
}
