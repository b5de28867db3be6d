package dev.zlayer.cli.command.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The capabilities that the unit leaves to the agent are enough for containers. */
@Timeout(180)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class UnitCapabilitiesIT {
  @TempDir Path directory;

  @Test
  void anAgentWithTheUnitsCapabilitiesRunsContainers() throws Exception {
    DaemonFixture daemon = DaemonFixture.in(directory);
    var words = new ArrayList<String>(List.of("setpriv", "--bounding-set", bounding()));
    words.addAll(daemon.process("serve"));
    Process agent =
        Processes.start(
            Command.of(words).withEnv(daemon.env()), directory.resolve("serve.log").toFile());
    try {
      Awaitility.await()
          .atMost(Duration.ofSeconds(90))
          .pollInterval(Duration.ofMillis(200))
          .until(() -> daemon.cli().run("ps").code() == 0);
      daemon.withBusybox("bb:1");
      String look = "grep CapBnd /proc/self/status; cat /etc/hosts >/dev/null && echo ran";
      assertThat(daemon.ok("run", "--rm", "--memory", "64m", "bb:1", "sh", "-c", look))
          .contains("CapBnd:\t00000000a80425fb", "ran");
      assertThat(
              daemon.ok(
                  "run",
                  "--rm",
                  "--privileged",
                  "bb:1",
                  "sh",
                  "-c",
                  "mount -t tmpfs none /tmp && echo mounted"))
          .contains("mounted");
      CliFixture.Result refused =
          daemon.cli().run("run", "--rm", "--cap-add", "SYS_MODULE", "bb:1", "true");
      assertThat(refused.code()).isNotZero();
      assertThat(refused.err()).contains("SYS_MODULE", "--all-capabilities");
    } finally {
      daemon.close();
      agent.destroyForcibly().waitFor();
    }
  }

  private static String bounding() {
    return Stream.of(DaemonInstallCommand.CAPABILITIES.split(" "))
        .map(name -> "+" + name.replace("CAP_", "").toLowerCase(Locale.ROOT))
        .collect(Collectors.joining(",", "-all,", ""));
  }
}
