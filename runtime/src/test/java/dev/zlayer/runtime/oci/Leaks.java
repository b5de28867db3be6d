package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.file.DataDir;
import dev.zlayer.runtime.cni.NetworkLeaks;
import dev.zlayer.testkit.HostLeaks;
import java.nio.file.Path;
import org.awaitility.Awaitility;

/** What a runtime on a directory has left on this host. */
record Leaks(Path directory) {
  /** Fails, naming it, when anything is left of any container. */
  void assertNone() throws Exception {
    var leaks = new HostLeaks(directory, DataDir.under(directory).tag());
    Awaitility.await("processes end").untilAsserted(() -> assertThat(leaks.processes()).isEmpty());
    assertThat(leaks.find()).isEmpty();
    new NetworkLeaks(RuntimeFixture.networks(directory)).assertNone();
  }
}
