package dev.zlayer.container;

import java.net.Inet6Address;
import java.net.InetAddress;

/** Addresses as people and other programs write them. */
public final class IpText {
  private static final int GROUPS = 8;

  private IpText() {}

  /** Without the longest run of zero groups of an IPv6 address (RFC 5952), without its scope. */
  public static String of(InetAddress address) {
    if (!(address instanceof Inet6Address)) {
      return address.getHostAddress();
    }
    byte[] bytes = address.getAddress();
    var groups = new int[GROUPS];
    for (int i = 0; i < GROUPS; i++) {
      groups[i] = (bytes[2 * i] & 0xff) << 8 | (bytes[2 * i + 1] & 0xff);
    }
    int start = -1;
    int length = 1; // a single group of zeros is written
    for (int i = 0; i < GROUPS; i++) {
      int end = i;
      while (end < GROUPS && groups[end] == 0) {
        end++;
      }
      if (end - i > length) {
        start = i;
        length = end - i;
      }
    }
    if (start < 0) {
      return join(groups, 0, GROUPS);
    }
    return join(groups, 0, start) + "::" + join(groups, start + length, GROUPS);
  }

  /** With brackets around an IPv6 address, as it stands before a port. */
  public static String beforePort(InetAddress address) {
    return address instanceof Inet6Address ? "[" + of(address) + "]" : of(address);
  }

  private static String join(int[] groups, int from, int to) {
    var text = new StringBuilder();
    for (int i = from; i < to; i++) {
      text.append(i == from ? "" : ":").append(Integer.toHexString(groups[i]));
    }
    return text.toString();
  }
}
