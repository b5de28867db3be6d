package dev.zlayer.runtime.wsl;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.port.Container;
import java.nio.file.Path;
import java.time.Duration;

/** An agent in a process of its own that dies, without any warning, at a step. */
final class WslAgent {
  static final ContainerId ID = ContainerId.of("crash", "victim", 1);
  static final int DIED = 77;

  private WslAgent() {}

  /** Arguments: what stands for wsl.exe, the directory of Windows, and the step to die at. */
  public static void main(String[] args) throws Exception {
    WslStage fixture =
        WslStage.open(Path.of(args[0]), Path.of(args[1]), step -> dieAt(args[2], step));
    Container container = fixture.runtime.create(ID, WslStage.script("sleep 300"));
    container.start();
    try (var _ = container.exec(ExecSpec.of("sleep", "4242"))) {
      dieAt(args[2], "exec.started");
    }
    container.stop(Duration.ofMillis(100));
    container.remove(false);
    Runtime.getRuntime().halt(1); // the step does not exist
  }

  private static void dieAt(String wanted, String reached) {
    if (wanted.equals(reached)) {
      Runtime.getRuntime().halt(DIED);
    }
  }
}
