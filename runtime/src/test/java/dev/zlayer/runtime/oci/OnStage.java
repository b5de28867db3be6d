package dev.zlayer.runtime.oci;

import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** Tests that share one runtime; each uses containers of its own. */
@Requires({Fact.ROOT, Fact.RUNC, Fact.VIEW, Fact.CONMON, Fact.CNI, Fact.BUSYBOX, Fact.OVERLAYFS})
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class OnStage {
  Path directory;
  RuntimeFixture fixture;

  @BeforeAll
  void open(@TempDir Path directory) throws Exception {
    this.directory = directory;
    fixture = RuntimeFixture.open(directory);
  }

  @AfterAll
  void close() throws Exception {
    fixture.tearDown();
  }
}
