package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.FileSystemSpec;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.AppArmor;
import dev.zlayer.port.Container;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What a container may do to its kernel, seen from inside. */
class SecurityIT extends OnStage {
  private static final SecuritySpec SAFE = SecuritySpec.DEFAULT;
  private static final String CAPS = "grep -E 'Cap(Eff|Bnd)' /proc/self/status | cut -f2 | uniq";

  @Test
  void theDefaultCapabilitiesAreDockers() throws Exception {
    assertThat(fixture.output(RuntimeFixture.script(CAPS))).isEqualTo("00000000a80425fb");
  }

  @Test
  void capabilitiesAreAddedAndDropped() throws Exception {
    assertThat(capabilities(List.of("net_admin"), List.of("CAP_CHOWN")))
        .isEqualTo("00000000a80435fa");
    assertThat(capabilities(List.of(), List.of("ALL"))).isEqualTo("0000000000000000");
    assertThat(capabilities(List.of("KILL"), List.of("all"))).isEqualTo("0000000000000020");
  }

  @Test
  void anUnknownCapabilityIsRefused() {
    assertThatThrownBy(() -> capabilities(List.of("FLY"), List.of()))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("'FLY' is not a capability");
  }

  /** The OCI runtime may give its standard streams, and so a device of the host, to that user. */
  @Test
  void usersOfItsOwnDoNotGetTheHostsNullDevice() throws Exception {
    ContainerSpec spec =
        RuntimeFixture.script("sleep 1000")
            .withSecurity(SAFE.withUsers(SecuritySpec.Users.PRIVATE));
    Path device = Path.of("/dev/null");
    if (System.getProperty("zlayer.view", "").equals("crun")) {
      assertThatThrownBy(() -> fixture.runtime.create(RuntimeFixture.id(), spec))
          .isInstanceOf(AgentException.Unsupported.class)
          .hasMessageContaining("/dev/null");
    } else {
      Container container = fixture.runtime.create(RuntimeFixture.id(), spec);
      try {
        container.start();
        assertThat(Runs.exec(container, "id", "-u")).contains("0");
      } finally {
        container.remove(true);
      }
    }
    assertThat(Files.getOwner(device).getName()).isEqualTo("root");
  }

  @Test
  void theDefaultSeccompProfileFilters() throws Exception {
    // a user namespace needs no capability, so that only the filter keeps a container from one
    assertThat(
            fixture.output(
                RuntimeFixture.script(
                    "grep Seccomp: /proc/self/status; unshare -U true || echo denied")))
        .contains("Seccomp:\t2")
        .contains("Operation not permitted", "denied");
    var open =
        with(
            new SecuritySpec(
                List.of(),
                List.of(),
                new SecuritySpec.Seccomp.Unconfined(),
                true,
                false,
                SAFE.pid(),
                SAFE.ipc(),
                Map.of(),
                List.of()),
            "grep Seccomp: /proc/self/status; unshare -U echo made");
    assertThat(fixture.output(open)).contains("Seccomp:\t0", "made");
  }

  @Test
  void anAppArmorProfileIsAppliedOrRefused() throws Exception {
    var strict =
        new SecuritySpec(
            List.of(),
            List.of(),
            SAFE.seccomp(),
            true,
            false,
            SAFE.pid(),
            SAFE.ipc(),
            Map.of(),
            List.of(),
            Optional.of("zlayer-no-such-profile"),
            Optional.empty());
    assertThatThrownBy(() -> fixture.output(with(strict, "true")))
        .isInstanceOf(AgentException.class)
        .hasMessageContaining("security_opt apparmor=zlayer-no-such-profile: ");
    if (!AppArmor.enabled()) {
      // without it in the kernel a container is made as ever
      assertThat(fixture.output(RuntimeFixture.script("echo made"))).isEqualTo("made");
    } else {
      assertThat(fixture.output(RuntimeFixture.script("cat /proc/self/attr/current")))
          .contains("zlayer-default (enforce)");
    }
  }

  @Test
  void privilegesCannotBeGained() throws Exception {
    assertThat(fixture.output(RuntimeFixture.script("grep NoNewPrivs /proc/self/status")))
        .endsWith("1");
    var lax =
        new SecuritySpec(
            List.of(),
            List.of(),
            SAFE.seccomp(),
            false,
            false,
            SAFE.pid(),
            SAFE.ipc(),
            Map.of(),
            List.of());
    assertThat(fixture.output(with(lax, "grep NoNewPrivs /proc/self/status"))).endsWith("0");
  }

  @Test
  void pathsOfTheKernelAreMaskedOrReadOnly() throws Exception {
    assertThat(
            fixture.output(
                RuntimeFixture.script(
                    "wc -c < /proc/timer_list; ls /sys/firmware | wc -l; "
                        + "echo 1 > /proc/sys/kernel/panic; touch /sys/x; touch /sys/fs/cgroup/x")))
        .startsWith("0\n0\n")
        .contains("panic: Read-only file system", "/sys/x: Read-only file system");
  }

  @Test
  void privilegedHasEverythingTheAgentHas() throws Exception {
    var privileged =
        new SecuritySpec(
            List.of(),
            List.of(),
            SAFE.seccomp(),
            true,
            true,
            SAFE.pid(),
            SAFE.ipc(),
            Map.of(),
            List.of());
    long own = dev.zlayer.host.linux.Self.capabilities();
    assertThat(
            fixture.output(
                with(
                    privileged,
                    CAPS
                        + "; grep -E 'Seccomp:|NoNewPrivs' /proc/self/status; ls /dev/loop-control;"
                        + " mkdir /x && mount -t tmpfs x /x && echo mounted; test -w /proc/sys &&"
                        + " echo w")))
        .contains("%016x".formatted(own), "Seccomp:\t0", "NoNewPrivs:\t0", "mounted", "w");
  }

  @Test
  void theRootCanBeReadOnly() throws Exception {
    var spec =
        RuntimeFixture.script(
                "touch /x; touch /etc/hosts && echo hosts; touch /dev/shm/x && echo shm")
            .withFileSystem(new FileSystemSpec(List.of(), true));
    assertThat(fixture.output(spec)).contains("/x: Read-only file system", "hosts", "shm");
  }

  @Test
  void sysctlsOfItsOwnNamespacesAreSet() throws Exception {
    var spec = sysctls(Map.of("net.ipv4.ip_forward", "1", "kernel.shm_rmid_forced", "1"));
    assertThat(fixture.output(spec)).isEqualTo("1\n1");
  }

  @Test
  void sysctlsOfTheHostAreRefused() {
    for (String name : List.of("kernel.panic", "vm.swappiness", "fs.file-max")) {
      assertThatThrownBy(() -> fixture.run(sysctls(Map.of(name, "1"))))
          .isInstanceOf(AgentException.InvalidSpec.class)
          .hasMessageContaining(name);
    }
  }

  @Test
  void devicesAppearWithTheirRights() throws Exception {
    var device = new SecuritySpec.Device(Path.of("/dev/kmsg"), true, false, false);
    var spec =
        with(
            new SecuritySpec(
                List.of(),
                List.of(),
                SAFE.seccomp(),
                true,
                false,
                SAFE.pid(),
                SAFE.ipc(),
                Map.of(),
                List.of(device)),
            "test -c /dev/kmsg && echo there; echo x > /dev/kmsg || echo refused; ls /dev/vda");
    assertThat(fixture.output(spec)).startsWith("there\n").contains("refused", "No such file");
    assertThat(fixture.output(RuntimeFixture.script("ls /dev/kmsg"))).contains("No such file");
  }

  @Test
  void aMissingDeviceIsRefused() {
    var device = new SecuritySpec.Device(Path.of("/dev/nothing"), true, true, true);
    var spec =
        with(
            new SecuritySpec(
                List.of(),
                List.of(),
                SAFE.seccomp(),
                true,
                false,
                SAFE.pid(),
                SAFE.ipc(),
                Map.of(),
                List.of(device)),
            "true");
    assertThatThrownBy(() -> fixture.run(spec))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("/dev/nothing is not on this host");
  }

  @Test
  void namespacesCanBeTheHosts() throws Exception {
    assertThat(fixture.output(RuntimeFixture.script("echo $$"))).isEqualTo("1");
    var host = new SecuritySpec.Namespace.Host();
    String shared = fixture.output(namespaces(host, host, "echo $$; readlink /proc/self/ns/ipc"));
    assertThat(shared).doesNotStartWith("1\n").endsWith(link("/proc/self/ns/ipc"));
  }

  @Test
  void namespacesCanBeAnotherContainers() throws Exception {
    var ipc = RuntimeFixture.script("echo seen > /dev/shm/note; sleep 60");
    Container other = fixture.runtime.create(RuntimeFixture.id(), ipc);
    other.start();
    try {
      var with = new SecuritySpec.Namespace.Shared(other.id());
      org.awaitility.Awaitility.await()
          .until(() -> Runs.exec(other, "cat", "/dev/shm/note").equals("seen"));
      assertThat(
              fixture.output(
                  namespaces(with, with, "cat /dev/shm/note; ps | grep -c 'sleep 6[0]'")))
          .isEqualTo("seen\n1");
    } finally {
      other.remove(true);
    }
  }

  private String capabilities(List<String> add, List<String> drop) throws InterruptedException {
    return fixture.output(
        with(
            new SecuritySpec(
                add,
                drop,
                SAFE.seccomp(),
                true,
                false,
                SAFE.pid(),
                SAFE.ipc(),
                Map.of(),
                List.of()),
            CAPS));
  }

  private static ContainerSpec sysctls(Map<String, String> sysctls) {
    return with(
        new SecuritySpec(
            List.of(),
            List.of(),
            SAFE.seccomp(),
            true,
            false,
            SAFE.pid(),
            SAFE.ipc(),
            sysctls,
            List.of()),
        "cat /proc/sys/net/ipv4/ip_forward /proc/sys/kernel/shm_rmid_forced");
  }

  private static ContainerSpec namespaces(
      SecuritySpec.Namespace pid, SecuritySpec.Namespace ipc, String script) {
    return with(
        new SecuritySpec(
            List.of(), List.of(), SAFE.seccomp(), true, false, pid, ipc, Map.of(), List.of()),
        script);
  }

  private static ContainerSpec with(SecuritySpec security, String script) {
    return RuntimeFixture.script(script).withSecurity(security);
  }

  private static String link(String path) throws Exception {
    return java.nio.file.Files.readSymbolicLink(Path.of(path)).toString();
  }
}
