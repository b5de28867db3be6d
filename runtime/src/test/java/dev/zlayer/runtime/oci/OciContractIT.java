package dev.zlayer.runtime.oci;

import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.contract.RuntimeContract;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

/** Keeps every promise of a runtime, on real containers. */
@Requires({Fact.ROOT, Fact.RUNC, Fact.VIEW, Fact.CONMON, Fact.CNI, Fact.BUSYBOX, Fact.OVERLAYFS})
class OciContractIT extends RuntimeContract {
  @TempDir static Path directory;
  private static RuntimeFixture fixture;

  @BeforeAll
  static void open() throws Exception {
    fixture = RuntimeFixture.open(directory);
  }

  @AfterAll
  static void close() throws Exception {
    fixture.tearDown();
    new Leaks(directory).assertNone();
  }

  @Override
  protected ContainerRuntime runtime() {
    return fixture.runtime;
  }

  @Override
  protected ContainerRuntime restarted() {
    try {
      fixture.close();
      fixture = RuntimeFixture.open(directory);
      return fixture.runtime;
    } catch (Exception e) {
      throw new AgentException.Internal("cannot open the runtime anew", e);
    }
  }

  @Override
  protected ImageRef image() {
    return RuntimeFixture.BUSYBOX;
  }
}
