package dev.zlayer.cluster.network;

import dev.zlayer.cluster.network.DesiredOverlay.Peer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * From what is wanted and what the kernel has to the commands between the two. As flannel does it:
 * the interface learns nothing, and each peer has one forwarding entry, one neighbour and one
 * route. Nothing that is right is touched, so a second call plans nothing. Pure.
 */
public final class OverlayPlanner {
  private OverlayPlanner() {}

  /**
   * One command.
   *
   * @param input what it reads; empty for nothing
   */
  public record Step(List<String> command, String input) {
    public Step {
      command = List.copyOf(command);
    }

    static Step of(String... command) {
      return new Step(List.of(command), "");
    }
  }

  public static List<Step> plan(DesiredOverlay spec, ObservedOverlay state) {
    var steps = new ArrayList<Step>();
    // the rules come first: without them everybody could send to everybody
    if (!state.rules().equals(OverlayRules.mark(spec))) {
      steps.add(new Step(List.of("nft", "-f", "-"), OverlayRules.text(spec)));
    }
    boolean kept = state.link().filter(link -> right(link, spec)).isPresent();
    if (state.link().isPresent() && !kept) {
      steps.add(Step.of("ip", "link", "delete", "dev", spec.device()));
    }
    ObservedOverlay before = kept ? state : ObservedOverlay.NONE;
    link(spec, before, steps);
    if (spec.encryption().isPresent()) {
      WireGuardPlanner.peers(spec, spec.encryption().get(), before, steps);
    } else {
      peers(spec, before, steps);
    }
    return List.copyOf(steps);
  }

  /** Sets up an interface that has nothing yet; rules stay as they are. */
  static List<Step> setup(DesiredOverlay spec, ObservedOverlay.Link made) {
    var without =
        new ObservedOverlay(
            Optional.of(made), Set.of(), Map.of(), Map.of(), Map.of(), OverlayRules.mark(spec));
    return plan(spec, without);
  }

  /** What ends the overlay on a node that leaves. */
  public static List<Step> removal(String device, String table, ObservedOverlay state) {
    var steps = new ArrayList<Step>();
    if (state.link().isPresent()) {
      steps.add(Step.of("ip", "link", "delete", "dev", device));
    }
    if (!state.rules().isEmpty()) {
      steps.add(new Step(List.of("nft", "-f", "-"), OverlayRules.none(table)));
    }
    return List.copyOf(steps);
  }

  /** What cannot be changed while the interface exists. */
  private static boolean right(ObservedOverlay.Link link, DesiredOverlay spec) {
    if (spec.encryption().isPresent()) {
      return WireGuardPlanner.right(link);
    }
    return link.kind().equals("vxlan")
        && link.mac().equals(spec.subnet().mac())
        && link.vni() == spec.vni()
        && link.port() == spec.port()
        && link.local().equals(spec.address())
        && !link.learning();
  }

  private static void link(DesiredOverlay spec, ObservedOverlay before, List<Step> steps) {
    String device = spec.device();
    String mtu = Integer.toString(spec.mtu());
    if (before.link().isEmpty()) {
      steps.add(spec.encryption().isPresent() ? WireGuardPlanner.create(spec) : create(spec));
    } else if (before.link().get().mtu() != spec.mtu()) {
      steps.add(Step.of("ip", "link", "set", "dev", device, "mtu", mtu));
    }
    String own = spec.subnet().first() + "/32";
    before.addresses().stream()
        .filter(address -> !address.equals(own))
        .sorted()
        .forEach(address -> steps.add(Step.of("ip", "addr", "delete", address, "dev", device)));
    if (!before.addresses().contains(own)) {
      steps.add(Step.of("ip", "addr", "add", own, "dev", device));
    }
    if (before.link().isEmpty() || !before.link().get().up()) {
      steps.add(Step.of("ip", "link", "set", "dev", device, "up"));
    }
  }

  private static Step create(DesiredOverlay spec) {
    return Step.of(
        "ip",
        "link",
        "add",
        spec.device(),
        "address",
        spec.subnet().mac(),
        "mtu",
        Integer.toString(spec.mtu()),
        "type",
        "vxlan",
        "id",
        Integer.toString(spec.vni()),
        "local",
        spec.address(),
        "dstport",
        Integer.toString(spec.port()),
        "nolearning");
  }

  private static void peers(DesiredOverlay spec, ObservedOverlay before, List<Step> steps) {
    String device = spec.device();
    var routes = new HashMap<String, String>();
    var neighbours = new HashMap<String, String>();
    var forwarding = new HashMap<String, String>();
    for (Peer peer : spec.peers()) {
      routes.put(peer.subnet().toString(), peer.subnet().first());
      neighbours.put(peer.subnet().first(), peer.subnet().mac());
      forwarding.put(peer.subnet().mac(), peer.address());
    }
    // first what ends, in the reverse order: a route without a neighbour would lose packets
    extra(before.routes(), routes)
        .forEach(to -> steps.add(Step.of("ip", "route", "delete", to, "dev", device)));
    extra(before.neighbours(), neighbours)
        .forEach(to -> steps.add(Step.of("ip", "neigh", "delete", to, "dev", device)));
    extra(before.forwarding(), forwarding)
        .forEach(
            mac ->
                steps.add(
                    Step.of(
                        "bridge",
                        "fdb",
                        "delete",
                        mac,
                        "dev",
                        device,
                        "dst",
                        String.valueOf(before.forwarding().get(mac)),
                        "self")));
    for (Peer peer : spec.peers()) {
      String mac = peer.subnet().mac();
      String gateway = peer.subnet().first();
      String subnet = peer.subnet().toString();
      if (!Objects.equals(before.forwarding().get(mac), peer.address())) {
        steps.add(
            Step.of(
                "bridge",
                "fdb",
                "replace",
                mac,
                "dev",
                device,
                "dst",
                peer.address(),
                "self",
                "permanent"));
      }
      if (!Objects.equals(before.neighbours().get(gateway), mac)) {
        steps.add(
            Step.of(
                "ip",
                "neigh",
                "replace",
                gateway,
                "lladdr",
                mac,
                "dev",
                device,
                "nud",
                "permanent"));
      }
      if (!Objects.equals(before.routes().get(subnet), gateway)) {
        steps.add(
            Step.of("ip", "route", "replace", subnet, "via", gateway, "dev", device, "onlink"));
      }
    }
  }

  static List<String> extra(Map<String, String> before, Map<String, String> wanted) {
    return before.keySet().stream().filter(key -> !wanted.containsKey(key)).sorted().toList();
  }
}
