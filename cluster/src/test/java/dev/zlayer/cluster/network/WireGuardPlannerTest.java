package dev.zlayer.cluster.network;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.network.DesiredOverlay.Encryption;
import dev.zlayer.cluster.network.DesiredOverlay.Peer;
import dev.zlayer.cluster.network.ObservedOverlay.Remote;
import dev.zlayer.cluster.network.ObservedOverlay.Tunnels;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class WireGuardPlannerTest {
  private static final String DEVICE = "zlayer-vx";
  private static final Encryption OWN = new Encryption("/etc/own.key", "OWN=");
  private static final Peer SECOND = peer("192.0.2.2", "10.192.64.0/18", "TWO=");
  private static final Peer THIRD = peer("192.0.2.3", "10.192.128.0/18", "THREE=");

  @Test
  void aNewNodeGetsRulesTheInterfaceItsKeyAndOnePeerWithTheSourcesOfItsSubnet() {
    assertThat(commands(OverlayPlanner.plan(desired(List.of(SECOND)), ObservedOverlay.NONE)))
        .containsExactly(
            "nft -f -",
            "ip link add dev zlayer-vx mtu 1420 type wireguard",
            "ip addr add 10.192.0.0/32 dev zlayer-vx",
            "ip link set dev zlayer-vx up",
            "wg set zlayer-vx listen-port 51820 private-key /etc/own.key",
            "wg set zlayer-vx peer TWO= endpoint 192.0.2.2:51820 allowed-ips 10.192.64.0/18"
                + " persistent-keepalive 25",
            "ip route replace 10.192.64.0/18 dev zlayer-vx");
  }

  @Test
  void whatIsRightIsNotTouchedWhoeverMadeTheInterface() {
    DesiredOverlay both = desired(List.of(SECOND, THIRD));

    assertThat(OverlayPlanner.plan(both, observed(both, "wireguard"))).isEmpty();
    assertThat(OverlayPlanner.plan(both, observed(both, "tun"))).isEmpty();
  }

  @Test
  void aPeerWithoutAKeyIsNotReachedAndNothingLeavesToItOtherwise() {
    DesiredOverlay desired = desired(List.of(new Peer("192.0.2.2", SECOND.subnet())));
    List<OverlayPlanner.Step> steps = OverlayPlanner.plan(desired, ObservedOverlay.NONE);

    assertThat(commands(steps)).noneMatch(step -> step.contains("10.192.64.0"));
    assertThat(steps.getFirst().input())
        .contains("set remote { type ipv4_addr; flags interval; elements = { 10.192.64.0/18 }; }")
        .contains("oifname != \"zlayer-vx\" ip daddr @remote drop")
        .contains("udp dport 51820 ip saddr != @nodes drop");
  }

  @Test
  void anotherKeyOfAPeerReplacesTheOldOneAndKeepsTheRoute() {
    ObservedOverlay before = observed(desired(List.of(SECOND)), "wireguard");
    Peer rotated = peer("192.0.2.2", "10.192.64.0/18", "NEW=");

    assertThat(commands(OverlayPlanner.plan(desired(List.of(rotated)), before)))
        .containsExactly(
            "wg set zlayer-vx peer TWO= remove",
            "wg set zlayer-vx peer NEW= endpoint 192.0.2.2:51820 allowed-ips 10.192.64.0/18"
                + " persistent-keepalive 25");
  }

  @Test
  void vxlanIsReplacedAndTheOtherWayRound() {
    DesiredOverlay encrypted = desired(List.of(SECOND));
    var plain =
        new DesiredOverlay(DEVICE, 4096, 8472, "192.0.2.1", 1500, own(), List.of(SECOND), Set.of());
    ObservedOverlay vxlan = observed(encrypted, "vxlan");

    assertThat(commands(OverlayPlanner.plan(encrypted, vxlan)))
        .startsWith(
            "ip link delete dev zlayer-vx", "ip link add dev zlayer-vx mtu 1420 type wireguard");
    assertThat(commands(OverlayPlanner.plan(plain, observed(encrypted, "wireguard"))))
        .contains("ip link delete dev zlayer-vx")
        .noneMatch(step -> step.startsWith("wg"));
  }

  /** From any state to any other in one plan, over a model of the kernel. */
  @Test
  void anyStateBecomesTheDesiredOne() {
    for (int seed = 0; seed < 500; seed++) {
      var random = new Random(seed);
      DesiredOverlay desired = desired(peers(random));
      ObservedOverlay before =
          random.nextInt(5) == 0
              ? ObservedOverlay.NONE
              : observed(desired(peers(random)), random.nextBoolean() ? "tun" : "wireguard");
      ObservedOverlay after = applied(before, OverlayPlanner.plan(desired, before), desired);

      assertThat(OverlayPlanner.plan(desired, after)).as("seed %d", seed).isEmpty();
      assertThat(after.routes()).as("seed %d", seed).isEqualTo(observed(desired, "").routes());
      assertThat(after.tunnels()).as("seed %d", seed).isEqualTo(observed(desired, "").tunnels());
    }
  }

  @Test
  void whatWgShowsIsRead() {
    assertThat(
            Tunnels.parse(
                """
                SECRET=\tOWN=\t51820\toff
                TWO=\t(none)\t192.0.2.2:51820\t10.192.64.0/18\t0\t0\t0\toff
                """))
        .isEqualTo(
            new Tunnels(
                "OWN=", 51820, Map.of("TWO=", new Remote("192.0.2.2:51820", "10.192.64.0/18"))));
    assertThat(Tunnels.parse("(none)\t(none)\t0\toff\n").port()).isZero();
  }

  private static List<Peer> peers(Random random) {
    return java.util.stream.IntStream.range(1, 4)
        .filter(_ -> random.nextBoolean())
        .mapToObj(
            number ->
                peer(
                    "192.0.2." + (number + (random.nextInt(4) == 0 ? 100 : 0)),
                    "10.192.%d.0/18".formatted(number * 64),
                    "KEY%d%d=".formatted(number, random.nextInt(2))))
        .toList();
  }

  private static Peer peer(String address, String subnet, String key) {
    return new Peer(address, NodeSubnet.parse(subnet), Optional.of(key));
  }

  private static NodeSubnet own() {
    return NodeSubnet.parse("10.192.0.0/18");
  }

  private static DesiredOverlay desired(List<Peer> peers) {
    return new DesiredOverlay(
        DEVICE, 4096, 51820, "192.0.2.1", 1500, own(), peers, Set.of(), Optional.of(OWN));
  }

  private static ObservedOverlay observed(DesiredOverlay spec, String kind) {
    var routes = new HashMap<String, String>();
    var remotes = new HashMap<String, Remote>();
    for (Peer peer : spec.peers()) {
      routes.put(peer.subnet().toString(), "");
      remotes.put(
          peer.key().orElseThrow(),
          new Remote(peer.address() + ":51820", peer.subnet().toString()));
    }
    return new ObservedOverlay(
        Optional.of(new ObservedOverlay.Link(kind, "", spec.mtu(), true, 0, 0, "", true)),
        Set.of("10.192.0.0/32"),
        routes,
        Map.of(),
        Map.of(),
        OverlayRules.mark(spec),
        new Tunnels("OWN=", 51820, remotes));
  }

  /** What the commands do; the kernel has an address of sources once. */
  private static ObservedOverlay applied(
      ObservedOverlay before, List<OverlayPlanner.Step> steps, DesiredOverlay spec) {
    var routes = new HashMap<>(before.routes());
    var remotes = new HashMap<>(before.tunnels().remotes());
    for (OverlayPlanner.Step step : steps) {
      List<String> words = step.command();
      if (words.contains("route") && words.contains("delete")) {
        routes.remove(words.get(3));
      } else if (words.contains("route")) {
        routes.put(words.get(3), "");
      } else if (words.contains("remove")) {
        remotes.remove(words.get(4));
      } else if (words.contains("peer")) {
        remotes.values().removeIf(remote -> remote.sources().equals(words.get(8)));
        remotes.put(words.get(4), new Remote(words.get(6), words.get(8)));
      }
    }
    ObservedOverlay whole = observed(spec, "tun");
    return new ObservedOverlay(
        whole.link(),
        whole.addresses(),
        routes,
        Map.of(),
        Map.of(),
        whole.rules(),
        new Tunnels("OWN=", 51820, remotes));
  }

  private static List<String> commands(List<OverlayPlanner.Step> steps) {
    return steps.stream().map(step -> String.join(" ", step.command())).toList();
  }
}
