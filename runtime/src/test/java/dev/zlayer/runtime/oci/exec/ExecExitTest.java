package dev.zlayer.runtime.oci.exec;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Signal;
import org.junit.jupiter.api.Test;

class ExecExitTest {
  @Test
  void withoutAProblemTheCodeIsTheCommands() {
    assertThat(ExecExit.of(0, "")).isEqualTo(new ExitStatus.Code(0));
    assertThat(ExecExit.of(255, "noise")).isEqualTo(new ExitStatus.Code(255));
    assertThat(ExecExit.of(137, "")).isEqualTo(new ExitStatus.Signalled(Signal.KILL));
  }

  @Test
  void aProblemOfTheRuntimeIsTold() {
    assertThat(ExecExit.of(255, error("exec failed: exec: \\\"x\\\": executable file not found")))
        .isEqualTo(new ExitStatus.Code(127));
    assertThat(ExecExit.of(255, error("exec failed: exec /x: permission denied")))
        .isEqualTo(new ExitStatus.Code(126));
    assertThat(ExecExit.of(1, error("open executable: Operation not permitted")))
        .isEqualTo(new ExitStatus.Code(126));
    assertThat(ExecExit.of(1, error("cannot exec in a stopped container")))
        .isInstanceOf(ExitStatus.RuntimeError.class);
  }

  private static String error(String message) {
    return "{\"level\":\"error\",\"msg\":\"" + message + "\",\"time\":\"now\"}\n";
  }
}
