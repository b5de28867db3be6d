package dev.zlayer.host.linux;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Optional;

/**
 * A cable from a bridge into a network namespace, with the address of the interface inside.
 *
 * @param hostName its end on the bridge
 * @param name its end in the namespace
 * @param mac the hardware address inside, as hexadecimal pairs
 * @param prefixLength of the network that the address is in
 * @param gateway where everything else is sent, if anywhere
 */
public record BridgePort(
    String bridge,
    String hostName,
    String hostMac,
    String name,
    String mac,
    InetAddress address,
    int prefixLength,
    Optional<InetAddress> gateway) {
  private static final int AF_INET = 2;
  private static final int AF_BRIDGE = 7;
  private static final int NESTED = 0x8000;

  private static final int IFLA_ADDRESS = 1;
  private static final int IFLA_IFNAME = 3;
  private static final int IFLA_MASTER = 10;
  private static final int IFLA_PROTINFO = 12 | NESTED;
  private static final int IFLA_LINKINFO = 18;
  private static final int IFLA_NET_NS_FD = 28;
  private static final int INFO_KIND = 1;
  private static final int INFO_DATA = 2;
  private static final int VETH_PEER = 1;
  private static final int BRPORT_HAIRPIN = 4;

  /** An array, as the kernel wants one byte: a byte alone would be sent as a number of four. */
  private static final byte[] ON = {1};

  private static final int IFA_ADDRESS = 1;
  private static final int IFA_LOCAL = 2;
  private static final int IFA_BROADCAST = 4;
  private static final int RTA_OIF = 4;
  private static final int RTA_GATEWAY = 5;
  private static final int MAIN_TABLE = 254;
  private static final int BOOT_PROTOCOL = 3;
  private static final int UNICAST = 1;

  /** Lays the cable; the calling thread is in the namespace of the bridge. */
  void lay(int namespace) throws IOException {
    String doing = "connect %s to bridge %s".formatted(hostName, bridge);
    try (RouteSocket socket = RouteSocket.open()) {
      socket.send(
          RouteMessage.creating(RouteMessage.NEWLINK)
              .link(0, 0, true)
              .attribute(IFLA_IFNAME, hostName)
              .attribute(IFLA_ADDRESS, bytes(hostMac))
              .attribute(IFLA_MASTER, Links.index(bridge))
              .attribute(
                  IFLA_LINKINFO,
                  info ->
                      info.attribute(INFO_KIND, "veth")
                          .attribute(
                              INFO_DATA,
                              data ->
                                  data.attribute(
                                      VETH_PEER,
                                      peer ->
                                          peer.link(0, 0, false)
                                              .attribute(IFLA_IFNAME, name)
                                              .attribute(IFLA_ADDRESS, bytes(mac))
                                              .attribute(IFLA_NET_NS_FD, namespace)))),
          doing);
      // a container that calls its own published port gets the packet back on its own cable
      socket.send(
          RouteMessage.changing(RouteMessage.SETLINK)
              .link(AF_BRIDGE, Links.index(hostName), false)
              .attribute(IFLA_PROTINFO, port -> port.attribute(BRPORT_HAIRPIN, ON)),
          doing);
    }
  }

  /** Gives the end inside its address; the calling thread is in the namespace. */
  void configure() throws IOException {
    // addresses are used again: whoever knows the interface that had it before is told
    setting("ipv4", "arp_notify", "1");
    // no other one can have the address that the kernel derives from ours: it need not ask
    setting("ipv6", "accept_dad", "0");
    int index = Links.index(name);
    byte[] own = address.getAddress();
    try (RouteSocket socket = RouteSocket.open()) {
      socket.send(
          RouteMessage.creating(RouteMessage.NEWADDR)
              .structure(AF_INET, prefixLength, 0, 0)
              .number(index)
              .attribute(IFA_LOCAL, own)
              .attribute(IFA_ADDRESS, own)
              .attribute(IFA_BROADCAST, broadcast(own)),
          "give %s to %s".formatted(address.getHostAddress(), name));
      Links.up(name);
      if (gateway.isPresent()) {
        socket.send(
            RouteMessage.creating(RouteMessage.NEWROUTE)
                .structure(AF_INET, 0, 0, 0, MAIN_TABLE, BOOT_PROTOCOL, 0, UNICAST)
                .number(0)
                .attribute(RTA_OIF, index)
                .attribute(RTA_GATEWAY, gateway.get().getAddress()),
            "route through " + gateway.get().getHostAddress());
      }
    }
  }

  /** All bits behind the prefix are set. */
  private byte[] broadcast(byte[] own) {
    byte[] all = own.clone();
    for (int bit = prefixLength; bit < Integer.SIZE; bit++) {
      all[bit / Byte.SIZE] |= (byte) (0x80 >> (bit % Byte.SIZE));
    }
    return all;
  }

  /** A kernel without IPv6 has none of its settings. */
  private void setting(String family, String what, String value) throws IOException {
    Path file = Path.of("/proc/sys/net", family, "conf", name, what);
    if (Files.exists(file)) {
      Files.writeString(file, value);
    }
  }

  private static byte[] bytes(String mac) {
    return HexFormat.ofDelimiter(":").parseHex(mac);
  }
}
