package dev.zlayer.runtime.cni;

import dev.zlayer.container.IpText;
import dev.zlayer.host.linux.BridgePort;
import dev.zlayer.host.linux.Links;
import dev.zlayer.host.linux.Namespaces;
import dev.zlayer.json.Json;
import java.io.IOException;
import java.net.InetAddress;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Connects namespaces to a bridge that exists with what the plugins {@code bridge} and {@code
 * host-local} would do, asked of the kernel directly: their two processes take ten times as long.
 * Files and result are theirs, so that they find what was made here and the other way round.
 */
final class DirectBridge {
  private final NetworkConfig config;
  private final Namespaces namespaces;
  private final Addresses addresses;
  private final SecureRandom random = new SecureRandom();

  DirectBridge(NetworkConfig config, Namespaces namespaces, Addresses addresses) {
    this.config = config;
    this.namespaces = namespaces;
    this.addresses = addresses;
  }

  /**
   * What the plugins would have answered; empty when this is for them: they make the bridge, know
   * ranges of addresses and IPv6, and say why a network is full.
   */
  Optional<Json> connect(PreparedNamespace slot, NamedNetwork network) throws IOException {
    NetworkOptions options = network.options();
    boolean plain = options.range().isEmpty() && options.reserved().isEmpty();
    if (!plain || config.firewall() || network.dualStack().isPresent()) {
      return Optional.empty();
    }
    Optional<String> bridge = Links.mac(network.bridge(), network.gateway());
    Optional<InetAddress> address =
        bridge.isEmpty() ? Optional.empty() : addresses.take(network, slot);
    if (address.isEmpty()) {
      return Optional.empty();
    }
    var port =
        new BridgePort(
            network.bridge(),
            "veth" + digits(4),
            mac(),
            slot.target().interfaceName(),
            mac(),
            address.get(),
            network.subnet().prefixLength(),
            Optional.of(network.gateway()).filter(_ -> !options.internal()));
    namespaces.connect(slot.netns(), port);
    return Optional.of(result(slot, port, network, bridge.orElseThrow()));
  }

  private static Json result(
      PreparedNamespace slot, BridgePort port, NamedNetwork network, String bridgeMac) {
    var links = new ArrayList<Json>();
    links.add(Json.object().put("name", port.bridge()).put("mac", bridgeMac).build());
    links.add(Json.object().put("name", port.hostName()).put("mac", port.hostMac()).build());
    links.add(
        Json.object()
            .put("name", port.name())
            .put("mac", port.mac())
            .put("sandbox", slot.netns().toString())
            .build());
    Json address =
        Json.object()
            .put("interface", links.size() - 1)
            .put("address", IpText.of(port.address()) + "/" + port.prefixLength())
            .put("gateway", IpText.of(network.gateway()))
            .build();
    return Json.object()
        .put("cniVersion", Cni.VERSION)
        .put("interfaces", links)
        .put("ips", List.of(address))
        .put("routes", port.gateway().isPresent() ? List.of(Map.of("dst", "0.0.0.0/0")) : List.of())
        .put("dns", Map.of())
        .build();
  }

  /** Of a kind that no maker of hardware gives to anything. */
  private String mac() {
    var bytes = new byte[6];
    random.nextBytes(bytes);
    bytes[0] = (byte) ((bytes[0] & 0xfc) | 2);
    return HexFormat.ofDelimiter(":").formatHex(bytes);
  }

  private String digits(int count) {
    var bytes = new byte[count];
    random.nextBytes(bytes);
    return HexFormat.of().formatHex(bytes);
  }
}
