package dev.zlayer.cluster.network;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.network.DesiredOverlay.Path;
import dev.zlayer.cluster.network.DesiredOverlay.Peer;
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
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Three network namespaces play hosts on one bridge, each with a bridge of its own and a namespace
 * on it that plays a container. Nothing of the machine itself is changed.
 */
@Requires(
    value = Fact.ROOT,
    programs = {"ip", "bridge", "nft", "nsenter", "busybox"})
class OverlayIT {
  private static final Duration LIMIT = Duration.ofSeconds(20);
  private static final int HOSTS = 3;
  private static final String DEVICE = DesiredOverlay.device("zt");

  private final String mark =
      "zv" + Integer.toString(ThreadLocalRandom.current().nextInt(36 * 36 * 36), 36);

  @BeforeEach
  void connect() {
    ip("netns", "add", mark + "s");
    ip("-n", mark + "s", "link", "add", "br0", "type", "bridge");
    ip("-n", mark + "s", "link", "set", "br0", "up");
    for (int number = 1; number <= HOSTS; number++) {
      host(number);
    }
  }

  private void host(int number) {
    String host = host(number, "h");
    String container = host(number, "c");
    ip("netns", "add", host);
    ip("netns", "add", container);
    ip("-n", host, "link", "set", "lo", "up");
    ip(
        "-n",
        host,
        "link",
        "add",
        "eth0",
        "type",
        "veth",
        "peer",
        "p" + number,
        "netns",
        mark + "s");
    ip("-n", mark + "s", "link", "set", "p" + number, "master", "br0", "up");
    ip("-n", host, "addr", "add", address(number) + "/24", "dev", "eth0");
    ip("-n", host, "link", "set", "eth0", "up");
    ip("-n", host, "link", "add", "zt1", "type", "bridge");
    ip("-n", host, "addr", "add", inside(number, 1) + "/24", "dev", "zt1");
    ip("-n", host, "link", "set", "zt1", "up");
    ip("-n", host, "link", "add", "v0", "type", "veth", "peer", "eth0", "netns", container);
    ip("-n", host, "link", "set", "v0", "master", "zt1", "up");
    ip("-n", container, "addr", "add", inside(number, 2) + "/24", "dev", "eth0");
    ip("-n", container, "link", "set", "eth0", "up");
    ip("-n", container, "link", "set", "lo", "up");
    ip("-n", container, "route", "add", "default", "via", inside(number, 1));
    succeed(run(host, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1"));
  }

  @AfterEach
  void disconnect() {
    for (int number = 1; number <= HOSTS; number++) {
      run(List.of("ip", "netns", "delete", host(number, "c")), "");
      run(List.of("ip", "netns", "delete", host(number, "h")), "");
    }
    run(List.of("ip", "netns", "delete", mark + "s"), "");
  }

  @Test
  void containersOfAllHostsReachEachOtherAndAPeerThatLeavesDoesNot() throws Exception {
    joinAll();
    for (int from = 1; from <= HOSTS; from++) {
      for (int to = 1; to <= HOSTS; to++) {
        awaitReached(from, to);
      }
    }
    assertThat(whole(1, 3))
        .as("a megabyte, through a smaller MTU than the containers have")
        .isTrue();
    assertThat(run(host(1, "h"), "ip", "-j", "link", "show", "dev", DEVICE).stdout())
        .contains("\"mtu\":1450");

    // an agent that starts anew finds everything right
    assertThat(overlay(1).apply(desired(1, 1, 2, 3))).isEmpty();

    // the third leaves
    assertThat(overlay(3).remove(desired(3))).hasSize(2);
    overlay(1).apply(desired(1, 1, 2));
    overlay(2).apply(desired(2, 1, 2));
    assertThat(reaches(1, 3)).isFalse();
    awaitReached(1, 2);
    assertThat(run(host(1, "h"), "bridge", "fdb", "show", "dev", DEVICE).stdout().lines())
        .hasSize(1);
    assertThat(run(host(3, "h"), "nft", "list", "tables").stdout()).isEmpty();
    assertThat(run(host(3, "h"), "ip", "link", "show", "dev", DEVICE).success()).isFalse();

    // and returns
    joinAll();
    awaitReached(1, 3);
  }

  @Test
  void whatSomebodyRemovedIsThereAgainAndNothingElseIsTouched() throws Exception {
    joinAll();
    succeed(run(host(1, "h"), "ip", "neigh", "flush", "dev", DEVICE, "nud", "permanent"));
    succeed(run(host(1, "h"), "ip", "route", "delete", "10.192.32.0/19"));
    succeed(run(host(1, "h"), "nft", "flush", "ruleset"));
    assertThat(reaches(1, 2)).isFalse();

    List<OverlayPlanner.Step> repaired = overlay(1).apply(desired(1, 1, 2, 3));
    assertThat(repaired).as("rules, a route, two neighbours").hasSize(4);
    awaitReached(1, 2);
    awaitReached(3, 1);
  }

  @Test
  void aContainerCannotSendInTheNameOfAnotherAndAHostThatIsNoNodeIsNotHeard() throws Exception {
    joinAll();
    // the first host's container takes an address of the third host's
    ip("-n", host(1, "c"), "addr", "add", inside(3, 9) + "/32", "dev", "lo");
    String before = pinged(2);
    assertThat(
            run(host(1, "c"), "busybox", "ping", "-c1", "-W1", "-I", inside(3, 9), inside(2, 2))
                .success())
        .isFalse();
    assertThat(pinged(2)).as("the first host does not even send it").isEqualTo(before);
    awaitReached(1, 2);
    assertThat(pinged(2)).as("what is not forged is counted").isNotEqualTo(before);

    // the second knows nothing of the third any more, which still sends
    overlay(2).apply(desired(2, 1, 2));
    assertThat(reaches(3, 2)).isFalse();
    awaitReached(1, 2);
  }

  @Test
  void withoutAPathNetworksOfOtherDeploymentsAreSeparate() throws Exception {
    joinAll();
    DesiredOverlay all = desired(2, 1, 2, 3);
    overlay(2)
        .apply(
            new DesiredOverlay(
                all.device(),
                all.vni(),
                all.port(),
                all.address(),
                all.hostMtu(),
                all.subnet(),
                all.peers(),
                Set.of(new Path("zt1", NodeSubnet.parse("10.192.64.0/24")))));

    assertThat(reaches(1, 2)).isFalse();
    awaitReached(3, 2);
    Awaitility.await("a node itself reaches all, for its proxy")
        .until(() -> run(host(1, "h"), "busybox", "ping", "-c1", "-W2", inside(2, 2)).success());
  }

  private void joinAll() throws InterruptedException {
    for (int number = 1; number <= HOSTS; number++) {
      overlay(number).apply(desired(number, 1, 2, 3));
    }
  }

  private Overlay overlay(int number) {
    return new Overlay(List.of("nsenter", "--net=/run/netns/" + host(number, "h")));
  }

  private static DesiredOverlay desired(int number, int... members) {
    List<Peer> peers =
        IntStream.of(members)
            .filter(other -> other != number)
            .mapToObj(other -> new Peer(address(other), subnet(other, 19)))
            .toList();
    Set<Path> paths =
        IntStream.of(members)
            .filter(other -> other != number)
            .mapToObj(other -> new Path("zt1", subnet(other, 24)))
            .collect(java.util.stream.Collectors.toSet());
    return new DesiredOverlay(
        DEVICE,
        DesiredOverlay.DEFAULT_VNI,
        DesiredOverlay.DEFAULT_PORT,
        address(number),
        1500,
        subnet(number, 19),
        peers,
        paths);
  }

  private static NodeSubnet subnet(int number, int length) {
    return NodeSubnet.parse("10.192.%d.0/%d".formatted(32 * (number - 1), length));
  }

  private static String address(int number) {
    return "192.0.2." + number;
  }

  private static String inside(int number, int last) {
    return "10.192.%d.%d".formatted(32 * (number - 1), last);
  }

  private String host(int number, String kind) {
    return mark + kind + number;
  }

  /** A new link carries packets a moment after it was made. */
  private void awaitReached(int from, int to) {
    Awaitility.await("%d reaches %d".formatted(from, to)).until(() -> reaches(from, to));
  }

  private boolean reaches(int from, int to) {
    return run(host(from, "c"), "busybox", "ping", "-c1", "-W1", inside(to, 2)).success();
  }

  /** How many pings a container has received so far. */
  private String pinged(int number) {
    return run(host(number, "c"), "grep", "^Icmp: [0-9]", "/proc/net/snmp")
        .stdout()
        .split(" ", -1)[9];
  }

  /** Sends a megabyte from one container to the other and counts what arrives. */
  private boolean whole(int from, int to) throws InterruptedException {
    String server = "busybox nc -l -p 9000 -w 10 | busybox wc -c";
    var words =
        List.of(
            "nsenter", "--net=/run/netns/" + host(to, "c"), "timeout", "15", "sh", "-c", server);
    Process listening = Processes.start(Command.of(words));
    try {
      String send =
          "for i in $(busybox seq 50); do"
              + " busybox head -c 1048576 /dev/zero | busybox nc -w 5 %s 9000 && exit 0;"
              + " busybox sleep 0.2; done; exit 1";
      succeed(run(host(from, "c"), "sh", "-c", send.formatted(inside(to, 2))));
      byte[] counted = listening.getInputStream().readAllBytes();
      return new String(counted, StandardCharsets.UTF_8).strip().equals("1048576");
    } catch (java.io.IOException e) {
      throw new AssertionError(e);
    } finally {
      listening.destroyForcibly();
    }
  }

  private static void ip(String... arguments) {
    var words = new ArrayList<>(List.of("ip"));
    words.addAll(List.of(arguments));
    succeed(run(words, ""));
  }

  private static void succeed(CommandResult result) {
    assertThat(result.code()).as(result.stderr()).isZero();
  }

  private static CommandResult run(String namespace, String... command) {
    var words = new ArrayList<>(List.of("nsenter", "--net=/run/netns/" + namespace));
    words.addAll(List.of(command));
    return run(words, "");
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
