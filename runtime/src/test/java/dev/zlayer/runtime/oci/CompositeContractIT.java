package dev.zlayer.runtime.oci;

import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.runtime.composite.CompositeRuntime;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.contract.RuntimeContract;
import dev.zlayer.testkit.fake.FakeRuntime;
import dev.zlayer.testkit.fake.FakeWorld;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

/**
 * The composite keeps the contract over real containers; its second runtime is for another system.
 */
@Requires({Fact.ROOT, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX, Fact.OVERLAYFS})
class CompositeContractIT extends RuntimeContract {
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
    ContainerRuntime foreign =
        new FakeRuntime(new FakeWorld(InstantSource.system()))
            .serving("foreign", Platform.of("windows", "amd64"));
    return CompositeRuntime.open(List.of(fixture.runtime, foreign), fixture.dirs.dispatch());
  }

  @Override
  protected ContainerRuntime restarted() {
    try {
      fixture.close();
      fixture = RuntimeFixture.open(directory);
      return runtime();
    } catch (Exception e) {
      throw new AgentException.Internal("cannot open the runtime anew", e);
    }
  }

  @Override
  protected ImageRef image() {
    return RuntimeFixture.BUSYBOX;
  }
}
