package dev.zlayer.cluster.network;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.network.DesiredOverlay.Path;
import dev.zlayer.cluster.network.DesiredOverlay.Peer;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class OverlayPlannerTest {
  private static final Peer SECOND = new Peer("192.0.2.2", NodeSubnet.parse("10.192.32.0/19"));
  private static final Peer THIRD = new Peer("192.0.2.3", NodeSubnet.parse("10.192.64.0/19"));

  @Test
  void aNewNodeGetsRulesThenTheInterfaceThenOneEntryOfEachKindPerPeer() {
    assertThat(commands(OverlayPlanner.plan(desired(List.of(SECOND)), ObservedOverlay.NONE)))
        .containsExactly(
            "nft -f -",
            "ip link add zlayer-vx address 0a:58:0a:c0:00:00 mtu 1450 type vxlan id 4096 local"
                + " 192.0.2.1 dstport 8472 nolearning",
            "ip addr add 10.192.0.0/32 dev zlayer-vx",
            "ip link set dev zlayer-vx up",
            "bridge fdb replace 0a:58:0a:c0:20:00 dev zlayer-vx dst 192.0.2.2 self permanent",
            "ip neigh replace 10.192.32.0 lladdr 0a:58:0a:c0:20:00 dev zlayer-vx nud permanent",
            "ip route replace 10.192.32.0/19 via 10.192.32.0 dev zlayer-vx onlink");
  }

  @Test
  void whatIsRightIsNotTouched() {
    DesiredOverlay both = desired(List.of(SECOND, THIRD));

    assertThat(OverlayPlanner.plan(both, observed(both))).isEmpty();
  }

  @Test
  void aPeerThatLeavesTakesItsRouteFirst() {
    ObservedOverlay before = observed(desired(List.of(SECOND, THIRD)));

    assertThat(commands(OverlayPlanner.plan(desired(List.of(SECOND)), before)))
        .containsExactly(
            "nft -f -",
            "ip route delete 10.192.64.0/19 dev zlayer-vx",
            "ip neigh delete 10.192.64.0 dev zlayer-vx",
            "bridge fdb delete 0a:58:0a:c0:40:00 dev zlayer-vx dst 192.0.2.3 self");
  }

  @Test
  void aPeerWithAnotherAddressKeepsItsRoute() {
    ObservedOverlay before = observed(desired(List.of(SECOND)));

    assertThat(
            commands(
                OverlayPlanner.plan(
                    desired(List.of(new Peer("192.0.2.9", SECOND.subnet()))), before)))
        .containsExactly(
            "nft -f -",
            "bridge fdb replace 0a:58:0a:c0:20:00 dev zlayer-vx dst 192.0.2.9 self permanent");
  }

  @Test
  void anInterfaceOfAnotherKindIsMadeAnewWithEverything() {
    DesiredOverlay desired = desired(List.of(SECOND));
    ObservedOverlay right = observed(desired);
    ObservedOverlay.Link link = right.link().orElseThrow();
    var learns =
        new ObservedOverlay(
            Optional.of(
                new ObservedOverlay.Link(
                    link.kind(), link.mac(), 1450, true, 4096, 8472, link.local(), true)),
            right.addresses(),
            right.routes(),
            right.neighbours(),
            right.forwarding(),
            right.rules());

    assertThat(commands(OverlayPlanner.plan(desired, learns)))
        .hasSize(7)
        .startsWith("ip link delete dev zlayer-vx")
        .endsWith("ip route replace 10.192.32.0/19 via 10.192.32.0 dev zlayer-vx onlink");
  }

  @Test
  void aNodeThatLeavesKeepsNothing() {
    DesiredOverlay desired = desired(List.of(SECOND));

    assertThat(commands(OverlayPlanner.removal("zlayer-vx", "zlayer_overlay", observed(desired))))
        .containsExactly("ip link delete dev zlayer-vx", "nft -f -");
    assertThat(OverlayPlanner.removal("zlayer-vx", "zlayer_overlay", ObservedOverlay.NONE))
        .isEmpty();
  }

  /** From any state to any other in one plan, over a model of the kernel's tables. */
  @Test
  void anyStateBecomesTheDesiredOne() {
    for (int seed = 0; seed < 500; seed++) {
      var random = new Random(seed);
      DesiredOverlay desired = desired(peers(random));
      ObservedOverlay before = random.nextInt(5) == 0 ? ObservedOverlay.NONE : damaged(random);
      ObservedOverlay after = applied(before, OverlayPlanner.plan(desired, before), desired);

      assertThat(after).as("seed %d", seed).isEqualTo(observed(desired));
      assertThat(OverlayPlanner.plan(desired, after)).as("seed %d", seed).isEmpty();
    }
  }

  private static List<Peer> peers(Random random) {
    return java.util.stream.IntStream.range(1, 8)
        .filter(_ -> random.nextBoolean())
        .mapToObj(
            number ->
                new Peer(
                    "192.0.2." + (number + (random.nextInt(4) == 0 ? 100 : 0)),
                    new NodeSubnet(0x0ac00000 + (number << 13), 19)))
        .toList();
  }

  private static ObservedOverlay damaged(Random random) {
    ObservedOverlay whole = observed(desired(peers(random)));
    var routes = new HashMap<>(whole.routes());
    var neighbours = new HashMap<>(whole.neighbours());
    var forwarding = new HashMap<>(whole.forwarding());
    routes.keySet().removeIf(_ -> random.nextInt(3) == 0);
    neighbours.keySet().removeIf(_ -> random.nextInt(3) == 0);
    forwarding.replaceAll((_, to) -> random.nextInt(3) == 0 ? "198.51.100.7" : to);
    ObservedOverlay.Link link = whole.link().orElseThrow();
    return new ObservedOverlay(
        Optional.of(
            new ObservedOverlay.Link(
                link.kind(),
                link.mac(),
                random.nextBoolean() ? 1450 : 1400,
                random.nextBoolean(),
                random.nextInt(4) == 0 ? 7 : 4096,
                8472,
                link.local(),
                false)),
        random.nextBoolean() ? whole.addresses() : Set.of("10.1.2.3/32"),
        routes,
        neighbours,
        forwarding,
        random.nextBoolean() ? whole.rules() : "unmarked");
  }

  private static ObservedOverlay applied(
      ObservedOverlay before, List<OverlayPlanner.Step> steps, DesiredOverlay desired) {
    Optional<ObservedOverlay.Link> link = before.link();
    var addresses = new HashSet<>(before.addresses());
    var routes = new HashMap<>(before.routes());
    var neighbours = new HashMap<>(before.neighbours());
    var forwarding = new HashMap<>(before.forwarding());
    String rules = before.rules();
    for (OverlayPlanner.Step step : steps) {
      List<String> words = step.command();
      switch (String.join(" ", words.subList(0, Math.min(3, words.size())))) {
        case "nft -f -" -> rules = OverlayRules.mark(desired);
        case "ip link delete" -> {
          link = Optional.empty();
          addresses.clear();
          routes.clear();
          neighbours.clear();
          forwarding.clear();
        }
        case "ip link add" ->
            link =
                Optional.of(
                    new ObservedOverlay.Link(
                        "vxlan",
                        words.get(5),
                        Integer.parseInt(words.get(7)),
                        false,
                        Integer.parseInt(words.get(11)),
                        Integer.parseInt(words.get(15)),
                        words.get(13),
                        false));
        case "ip link set" -> {
          ObservedOverlay.Link old = link.orElseThrow();
          boolean up = old.up() || words.getLast().equals("up");
          int mtu = words.contains("mtu") ? Integer.parseInt(words.getLast()) : old.mtu();
          link =
              Optional.of(
                  new ObservedOverlay.Link(
                      old.kind(), old.mac(), mtu, up, old.vni(), old.port(), old.local(), false));
        }
        case "ip addr add" -> addresses.add(words.get(3));
        case "ip addr delete" -> addresses.remove(words.get(3));
        case "ip route replace" -> routes.put(words.get(3), words.get(5));
        case "ip route delete" -> routes.remove(words.get(3));
        case "ip neigh replace" -> neighbours.put(words.get(3), words.get(5));
        case "ip neigh delete" -> neighbours.remove(words.get(3));
        case "bridge fdb replace" -> forwarding.put(words.get(3), words.get(7));
        case "bridge fdb delete" ->
            assertThat(forwarding.remove(words.get(3), words.get(7))).isTrue();
        default -> throw new AssertionError(step);
      }
    }
    return new ObservedOverlay(link, addresses, routes, neighbours, forwarding, rules);
  }

  private static DesiredOverlay desired(List<Peer> peers) {
    return new DesiredOverlay(
        DesiredOverlay.device("zlayer"),
        DesiredOverlay.DEFAULT_VNI,
        DesiredOverlay.DEFAULT_PORT,
        "192.0.2.1",
        1500,
        NodeSubnet.parse("10.192.0.0/19"),
        peers,
        Set.of(new Path("zlayer1", NodeSubnet.parse("10.192.40.0/24"))));
  }

  private static ObservedOverlay observed(DesiredOverlay desired) {
    Map<String, String> routes = new HashMap<>();
    Map<String, String> neighbours = new HashMap<>();
    Map<String, String> forwarding = new HashMap<>();
    for (Peer peer : desired.peers()) {
      routes.put(peer.subnet().toString(), peer.subnet().first());
      neighbours.put(peer.subnet().first(), peer.subnet().mac());
      forwarding.put(peer.subnet().mac(), peer.address());
    }
    return new ObservedOverlay(
        Optional.of(
            new ObservedOverlay.Link(
                "vxlan", "0a:58:0a:c0:00:00", 1450, true, 4096, 8472, "192.0.2.1", false)),
        Set.of("10.192.0.0/32"),
        routes,
        neighbours,
        forwarding,
        OverlayRules.mark(desired));
  }

  private static List<String> commands(List<OverlayPlanner.Step> steps) {
    return steps.stream().map(step -> String.join(" ", step.command())).toList();
  }
}
