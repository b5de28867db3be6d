package dev.zlayer.runtime.wsl;

import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.contract.RuntimeContract;
import dev.zlayer.testkit.wsl.StandInWsl;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

/** Keeps every promise of a runtime, on real containers behind a stand-in for wsl.exe. */
@Requires(
    value = {Fact.ROOT, Fact.RUNC, Fact.CONMON, Fact.BUSYBOX, Fact.OVERLAYFS},
    programs = {"unshare", "nsenter", "iconv"})
class WslContractIT extends RuntimeContract {
  @TempDir static Path directory;
  private static StandInWsl wsl;
  private static WslStage fixture;

  @BeforeAll
  static void open() throws Exception {
    wsl = StandInWsl.open(directory);
    fixture = WslStage.open(wsl);
  }

  @AfterAll
  static void close() throws Exception {
    try (var _ = wsl) {
      fixture.tearDown();
      WslStage.assertNothingLeft(wsl);
    }
  }

  @Override
  protected ContainerRuntime runtime() {
    return fixture.runtime;
  }

  @Override
  protected ContainerRuntime restarted() {
    try {
      fixture.close();
      fixture = WslStage.open(wsl);
      return fixture.runtime;
    } catch (Exception e) {
      throw new AgentException.Internal("cannot open the runtime anew", e);
    }
  }

  /** {@code wsl.exe} ends with the last process that holds its streams. */
  @Override
  public boolean endsOutputWithCommands() {
    return false;
  }

  @Override
  protected ImageRef image() {
    return WslStage.BUSYBOX;
  }
}
