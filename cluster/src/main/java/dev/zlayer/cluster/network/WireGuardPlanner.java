package dev.zlayer.cluster.network;

import dev.zlayer.cluster.network.DesiredOverlay.Encryption;
import dev.zlayer.cluster.network.DesiredOverlay.Peer;
import dev.zlayer.cluster.network.ObservedOverlay.Remote;
import dev.zlayer.cluster.network.ObservedOverlay.Tunnels;
import dev.zlayer.cluster.network.OverlayPlanner.Step;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * The part of {@link OverlayPlanner} for packets that are encrypted: each peer has one key and one
 * route. The key decides which sources a peer may have: those of its subnet. Pure.
 */
final class WireGuardPlanner {
  /** That of the kernel, and that of the program in its place. */
  private static final List<String> KINDS = List.of("wireguard", "tun");

  /** Seconds; with it a node that began anew greets the others, which would wait for 15 seconds. */
  private static final String KEEP_ALIVE = "25";

  private WireGuardPlanner() {}

  static boolean right(ObservedOverlay.Link link) {
    return KINDS.contains(link.kind());
  }

  /** Where the kernel refuses it for want of the module, a program makes the interface. */
  static Step create(DesiredOverlay spec) {
    return Step.of(
        "ip",
        "link",
        "add",
        "dev",
        spec.device(),
        "mtu",
        Integer.toString(spec.mtu()),
        "type",
        "wireguard");
  }

  static boolean creates(Step step) {
    return step.command().contains("add") && step.command().getLast().equals("wireguard");
  }

  static void peers(DesiredOverlay spec, Encryption own, ObservedOverlay before, List<Step> steps) {
    String device = spec.device();
    Tunnels tunnels = before.tunnels();
    if (!tunnels.publicKey().equals(own.publicKey()) || tunnels.port() != spec.port()) {
      steps.add(
          Step.of(
              "wg",
              "set",
              device,
              "listen-port",
              Integer.toString(spec.port()),
              "private-key",
              own.keyFile()));
    }
    Map<String, Remote> wanted = new TreeMap<>();
    Map<String, String> routes = new TreeMap<>();
    for (Peer peer : spec.peers()) {
      // one without a key is not reached: nothing is sent to it that is not encrypted
      if (peer.key().isPresent()) {
        String endpoint = "%s:%d".formatted(peer.address(), spec.port());
        wanted.put(peer.key().get(), new Remote(endpoint, peer.subnet().toString()));
        routes.put(peer.subnet().toString(), "");
      }
    }
    OverlayPlanner.extra(before.routes(), routes)
        .forEach(to -> steps.add(Step.of("ip", "route", "delete", to, "dev", device)));
    tunnels.remotes().keySet().stream()
        .filter(key -> !wanted.containsKey(key))
        .sorted()
        .forEach(key -> steps.add(Step.of("wg", "set", device, "peer", key, "remove")));
    wanted.forEach(
        (key, remote) -> {
          if (!remote.equals(tunnels.remotes().get(key))) {
            steps.add(
                Step.of(
                    "wg",
                    "set",
                    device,
                    "peer",
                    key,
                    "endpoint",
                    remote.endpoint(),
                    "allowed-ips",
                    remote.sources(),
                    "persistent-keepalive",
                    KEEP_ALIVE));
          }
        });
    routes.forEach(
        (subnet, gateway) -> {
          if (!Objects.equals(before.routes().get(subnet), gateway)) {
            steps.add(Step.of("ip", "route", "replace", subnet, "dev", device));
          }
        });
  }
}
