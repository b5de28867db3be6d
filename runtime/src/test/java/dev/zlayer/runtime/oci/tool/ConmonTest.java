package dev.zlayer.runtime.oci.tool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.LogSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.host.process.Detaching;
import dev.zlayer.runtime.log.LogFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What the monitor tells is understood alike, however it was started. */
@Timeout(60)
class ConmonTest {
  @TempDir Path directory;

  enum Way {
    DETACHED,
    SHELL;

    Optional<Detaching> open() throws IOException {
      return this == DETACHED ? Detaching.open() : Optional.empty();
    }
  }

  @ParameterizedTest
  @EnumSource
  void bothProcessesAreTold(Way way) throws Exception {
    String script =
        """
        sleep 1000 >/dev/null 2>&1 3>&- &
        (echo $! > monitor.pid; echo "{\\"data\\": $!}" >&3) &
        """;
    try (Conmon conmon = conmon(way, script, Duration.ofSeconds(30))) {
      Conmon.Monitored monitored = conmon.create(watch());
      try {
        assertThat(monitored.process().alive()).isTrue();
        assertThat(monitored.monitor()).isEqualTo(monitored.process());
      } finally {
        monitored.process().signal(9);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void itsLastWordsAreTheReasonWhenItTellsNothing(Way way) throws Exception {
    assertFails(way, "echo first >&2; echo 'no luck' >&2; exit 3", "conmon said nothing: no luck");
    assertFails(way, "exit 0", "conmon said nothing: it printed nothing");
  }

  @ParameterizedTest
  @EnumSource
  void whatTheRuntimeSaidIsPassedOn(Way way) throws Exception {
    assertFails(
        way,
        "echo '{\"data\": -1, \"message\": \"one\\\\nmsg=\\\\\"no such group\\\\\"\"}' >&3",
        "runc create failed: no such group");
  }

  @ParameterizedTest
  @EnumSource
  void nonsenseIsQuoted(Way way) throws Exception {
    assertFails(way, "echo '}{' >&3", "conmon printed '}{' where a process number was expected");
  }

  @ParameterizedTest
  @EnumSource
  void oneThatHangsIsGivenUp(Way way) throws Exception {
    try (Conmon conmon = conmon(way, "exec sleep 1000", Duration.ofSeconds(1))) {
      assertThatThrownBy(() -> conmon.create(watch())).isInstanceOf(AgentException.Timeout.class);
    }
  }

  private void assertFails(Way way, String script, String reason) throws Exception {
    try (Conmon conmon = conmon(way, script, Duration.ofSeconds(30))) {
      assertThatThrownBy(() -> conmon.create(watch()))
          .isInstanceOf(ToolFailed.class)
          .hasMessage(reason);
    }
  }

  private Conmon conmon(Way way, String script, Duration limit) throws IOException {
    Path program = Files.writeString(directory.resolve("conmon"), "#!/bin/sh\n" + script + "\n");
    Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
    var runtime =
        new OciCommands(
            Path.of("/usr/bin/runc"),
            Optional.empty(),
            directory.resolve("state"),
            false,
            Optional.empty(),
            false,
            limit);
    return new Conmon(program, runtime, way.open());
  }

  private Conmon.Watch watch() throws IOException {
    ContainerDir container = ContainerDir.whole(directory.resolve("container"));
    Files.createDirectories(container.run());
    return new Conmon.Watch(
        "one",
        container.bundle(),
        container,
        new LogFiles(container.logs(), LogSpec.DEFAULT),
        false,
        false);
  }
}
