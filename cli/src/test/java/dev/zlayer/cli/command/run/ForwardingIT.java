package dev.zlayer.cli.command.run;

import static dev.zlayer.cli.HostNamespace.HOST;
import static dev.zlayer.cli.HostNamespace.HOST_IPV4;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.cli.HostNamespace;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A host that forwards packets of containers is no router between its other interfaces. */
@Timeout(120)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class ForwardingIT {
  @TempDir Path directory;
  private final HostNamespace host = new HostNamespace();
  private final HostNamespace.Machine server = host.machine(1, false);
  private DaemonFixture daemon;

  @AfterEach
  void removeEverything() {
    try {
      if (daemon != null) {
        daemon.close();
      }
    } finally {
      host.close();
    }
  }

  private void serve() {
    daemon = DaemonFixture.start(directory, host, Map.of()).withBusybox("bb:1");
    daemon.ok("network", "create", "--ipv6", "six");
    daemon.ok(
        "run", "-d", "--name", "web", "--network", "six", "-p", "8080:80", "bb:1", "httpd", "-f");
    Awaitility.await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> connects(HOST_IPV4) && connects(HOST));
    for (String address : new String[] {server.ipv4(), server.ipv6()}) {
      Awaitility.await()
          .alias(address + " out of the container")
          .atMost(Duration.ofSeconds(20))
          .until(
              () ->
                  daemon.cli().run("exec", "web", "ping", "-c", "1", "-W", "2", address).code()
                      == 0);
    }
  }

  private boolean connects(String address) {
    return host.onClient("busybox", "nc", "-w", "2", address, "8080", "-e", "true").success();
  }

  private boolean reaches(String address) {
    return host.onClient("busybox", "ping", "-c", "1", "-W", "2", address).success();
  }

  /** Neighbours find each other within a moment. */
  private void awaitReached(String address) {
    Awaitility.await()
        .alias(address + " through the host")
        .atMost(Duration.ofSeconds(20))
        .until(() -> reaches(address));
  }

  private void assertNoRouter() {
    assertThat(reaches(server.ipv4())).as("IPv4 through the host").isFalse();
    assertThat(reaches(server.ipv6())).as("IPv6 through the host").isFalse();
  }

  private String setting(String path) {
    return host.onHost("cat", "/proc/sys/net/" + path).stdout().strip();
  }

  @Test
  void aHostThatWasNoRouterForwardsForItsContainersOnly() throws IOException {
    assertNoRouter();
    assertThat(setting("ipv6/conf/up0/accept_ra")).isEqualTo("1");
    serve();

    assertThat(setting("ipv4/ip_forward")).isEqualTo("1");
    assertThat(setting("ipv6/conf/all/forwarding")).isEqualTo("1");
    assertThat(setting("ipv6/conf/up0/accept_ra"))
        .as("it still learns its routes from advertisements")
        .isEqualTo("2");
    assertNoRouter();
    HostNamespace.Machine others = host.machine(2, true);
    awaitReached(others.ipv4());
    awaitReached(others.ipv6());

    daemon.kill();
    assertNoRouter();
    daemon.restart();
    daemon.ok("network", "create", "more"); // writes the rules anew
    assertNoRouter();
    assertThat(connects(HOST_IPV4)).isTrue();
    awaitReached(others.ipv4());

    daemon.ok("daemon", "stop");
    Files.createDirectories(directory.resolve("etc"));
    Files.writeString(directory.resolve("etc/zlayer.yml"), "network_forward_drop: false\n");
    daemon.restart();
    awaitReached(server.ipv4());
    awaitReached(server.ipv6());
  }

  @Test
  void aRouterStaysOne() {
    host.forwarding("1");

    serve();

    awaitReached(server.ipv4());
    awaitReached(server.ipv6());
    assertThat(setting("ipv6/conf/up0/accept_ra")).isEqualTo("1");
  }
}
