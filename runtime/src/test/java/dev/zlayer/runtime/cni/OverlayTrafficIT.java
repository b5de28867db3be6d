package dev.zlayer.runtime.cni;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What comes from other nodes passes our tables, and nothing else from outside does. Namespaces
 * play the host, a container on a bridge, another node behind the overlay's interface, and a
 * stranger.
 */
@Requires(
    value = Fact.ROOT,
    programs = {"ip", "nft", "nsenter", "busybox"})
class OverlayTrafficIT {
  private static final Duration LIMIT = Duration.ofSeconds(20);

  private final String mark =
      "zx" + Integer.toString(ThreadLocalRandom.current().nextInt(36 * 36 * 36), 36);
  private final String host = mark + "h";

  @BeforeEach
  void connect() {
    ip("netns", "add", host);
    succeed(run(host, "", "sysctl", "-q", "-w", "net.ipv4.ip_forward=1"));
    ip("-n", host, "link", "add", "zt1", "type", "bridge");
    ip("-n", host, "link", "set", "zt1", "up");
    machine("c", "v0", "10.192.0");
    ip("-n", host, "link", "set", "v0", "master", "zt1");
    ip("-n", host, "addr", "flush", "dev", "v0");
    ip("-n", host, "addr", "add", "10.192.0.1/24", "dev", "zt1");
    machine("n", "zt-vx", "10.192.32");
    machine("s", "eth1", "198.51.100");
  }

  /** A namespace on a cable, with the host as its router. */
  private void machine(String kind, String cable, String network) {
    String name = mark + kind;
    ip("netns", "add", name);
    ip("-n", host, "link", "add", cable, "type", "veth", "peer", "eth0", "netns", name);
    ip("-n", host, "link", "set", cable, "up");
    ip("-n", host, "addr", "add", network + ".1/24", "dev", cable);
    ip("-n", name, "addr", "add", network + ".2/24", "dev", "eth0");
    ip("-n", name, "link", "set", "eth0", "up");
    ip("-n", name, "route", "add", "default", "via", network + ".1");
  }

  @AfterEach
  void disconnect() {
    for (String kind : List.of("h", "c", "n", "s")) {
      run(List.of("ip", "netns", "delete", mark + kind), "");
    }
  }

  @Test
  void otherNodesReachContainersByTheirOwnAddressAndStrangersDoNot() {
    load(NetworkOptions.NONE);

    awaitWay("n", "10.192.0.2");
    awaitWay("c", "10.192.32.2");
    assertThat(reaches("s", "10.192.0.2")).isFalse();
    // without a way back to the container's own address only a translated one would be answered
    ip("-n", mark + "n", "route", "delete", "default");
    assertThat(reaches("c", "10.192.32.2")).as("not translated to other nodes").isFalse();
    ip("-n", mark + "s", "route", "delete", "default");
    awaitWay("c", "198.51.100.2"); // translated to the world
  }

  @Test
  void internalNetworksAreNotReachedFromOtherNodes() {
    load(
        new NetworkOptions(
            NetworkOptions.NONE.subnet(),
            NetworkOptions.NONE.gateway(),
            NetworkOptions.NONE.range(),
            false,
            NetworkOptions.NONE.subnetIpv6(),
            true,
            Map.of(),
            NetworkOptions.NONE.created(),
            NetworkOptions.NONE.gatewayIpv6(),
            NetworkOptions.NONE.rangeIpv6(),
            Map.of()));

    assertThat(reaches("n", "10.192.0.2")).isFalse();
    assertThat(reaches("c", "10.192.32.2")).isFalse();
  }

  private void load(NetworkOptions options) {
    var network =
        new NamedNetwork(
            "shop", "zt1", Subnet.parse("10.192.0.0/24"), java.util.Optional.empty(), options);
    String rules = new NetworkTables("zt").routed(List.of(network), false, Map.of());
    succeed(run(host, rules, "nft", "-f", "-"));
  }

  /** A bridge forwards a moment after its cables were plugged in. */
  private void awaitWay(String from, String to) {
    Awaitility.await(from + " reaches " + to).until(() -> reaches(from, to));
  }

  private boolean reaches(String from, String to) {
    return run(mark + from, "", "busybox", "ping", "-c1", "-W1", to).success();
  }

  private static void ip(String... arguments) {
    var words = new ArrayList<>(List.of("ip"));
    words.addAll(List.of(arguments));
    succeed(run(words, ""));
  }

  private static void succeed(CommandResult result) {
    assertThat(result.code()).as(result.stderr()).isZero();
  }

  private static CommandResult run(String namespace, String input, String... command) {
    var words = new ArrayList<>(List.of("nsenter", "--net=/run/netns/" + namespace));
    words.addAll(List.of(command));
    return run(words, input);
  }

  private static CommandResult run(List<String> command, String input) {
    try {
      return Processes.run(
          Command.of(command).withInput(input.getBytes(StandardCharsets.UTF_8)),
          Deadline.after(LIMIT));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
