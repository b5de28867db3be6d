package dev.zlayer.runtime.cni;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;

/**
 * The addresses of an interface on a bridge.
 *
 * @param mac six pairs of hexadecimal digits, separated by colons
 */
record Station(InetAddress address, Optional<InetAddress> ipv6, String mac) {
  static final String MAC = "[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}";

  /** All IPv6 addresses: the one that the kernel derives from the MAC address, and its own. */
  List<InetAddress> allIpv6() {
    var all = new ArrayList<InetAddress>();
    all.add(linkLocal());
    ipv6.ifPresent(all::add);
    return all;
  }

  private InetAddress linkLocal() {
    byte[] six = HexFormat.ofDelimiter(":").parseHex(mac);
    var bytes = new byte[16];
    bytes[0] = (byte) 0xfe;
    bytes[1] = (byte) 0x80;
    System.arraycopy(six, 0, bytes, 8, 3);
    bytes[8] ^= 2; // marks an address that is unique in the world, and is inverted here
    bytes[11] = (byte) 0xff;
    bytes[12] = (byte) 0xfe;
    System.arraycopy(six, 3, bytes, 13, 3);
    try {
      return InetAddress.getByAddress(bytes);
    } catch (UnknownHostException e) {
      throw new IllegalStateException("sixteen bytes are an address", e);
    }
  }
}
