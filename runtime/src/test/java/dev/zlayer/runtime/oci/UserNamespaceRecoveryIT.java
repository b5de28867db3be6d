package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.IdRange;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.Signal;
import dev.zlayer.host.linux.Mounts;
import dev.zlayer.port.Container;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Users of containers outlive their agent, and their mounts the machine. */
class UserNamespaceRecoveryIT extends OnStage {
  @Test
  void anotherAgentFindsThemAndNothingIsLeft() throws Exception {
    Path own = directory.resolve("adopted");
    RuntimeFixture before = RuntimeFixture.open(own);
    Set<String> mounts = mounts(before);
    Container container = null;
    try {
      container =
          before.runtime.create(
              RuntimeFixture.id(),
              RuntimeFixture.spec("sleep", "60")
                  .withSecurity(UserNamespacesIT.OWN)
                  .withNetwork(NetworkSpec.DEFAULT));
      container.start();
      long first = UserNamespacesIT.first(container);
      before.close();
      before = RuntimeFixture.open(own);
      Container found = before.runtime.find(container.id()).orElseThrow();
      assertThat(Runs.exec(found, "id", "-u")).isEqualTo("0");
      Container next =
          before.runtime.create(
              RuntimeFixture.id(),
              RuntimeFixture.spec("sleep", "60").withSecurity(UserNamespacesIT.OWN));
      next.start();
      assertThat(Math.abs(UserNamespacesIT.first(next) - first))
          .isGreaterThanOrEqualTo(IdRange.SIZE);
      next.remove(true);
      found.kill(Signal.KILL);
      assertThat(Runs.end(found)).isInstanceOf(ExitStatus.class);
      loseMounts(before, found);
      before.close();
      before = RuntimeFixture.open(own);
      found = before.runtime.find(container.id()).orElseThrow();
      found.start();
      assertThat(UserNamespacesIT.first(found)).isEqualTo(first);
      assertThat(Runs.exec(found, "cat", "/proc/self/uid_map").split(" +", -1))
          .contains(Long.toString(first));
      found.remove(true);
      assertThat(mounts(before)).isEqualTo(mounts);
      assertThat(before.dirs.userMounts()).isEmptyDirectory();
    } finally {
      before.tearDown();
    }
  }

  /** As after a reboot: neither namespaces nor mounts nor what is in memory are there. */
  private static void loseMounts(RuntimeFixture fixture, Container container) throws Exception {
    Path place = fixture.dirs.userMounts().resolve(container.id().runtimeName());
    try (var places = Files.list(place)) {
      for (Path path : places.toList()) {
        while (Mounts.mounted(path)) {
          Mounts.detach(path);
        }
        Files.delete(path);
      }
    }
    Files.delete(place);
    Mounts.detach(fixture.dirs.snapshots().resolve(container.id().runtimeName()).resolve("root"));
    fixture.networks.detach(container.id().runtimeName());
  }

  private static Set<String> mounts(RuntimeFixture fixture) throws Exception {
    var found = new HashSet<String>();
    for (Mounts.MountPoint mount : Mounts.list()) {
      if (mount.target().startsWith(fixture.dirs.data())
          || mount.target().startsWith(fixture.dirs.userMounts())) {
        found.add(mount.target().toString());
      }
    }
    return found;
  }
}
