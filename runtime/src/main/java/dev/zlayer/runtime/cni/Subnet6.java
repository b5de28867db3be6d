package dev.zlayer.runtime.cni;

import dev.zlayer.container.IpText;
import dev.zlayer.error.AgentException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.regex.Pattern;

/** An IPv6 network in the form {@code fd12:3456:789a:1::/64}. Pure. */
public record Subnet6(InetAddress address, int prefixLength) {
  /** What a network gets that is not given one. */
  static final int GENERATED = 64;

  /** A gateway and containers need more than two addresses. */
  private static final int LONGEST = 125;

  private static final Pattern FORM = Pattern.compile("([0-9a-fA-F:.]*:[0-9a-fA-F:.]*)/(\\d{1,3})");

  public Subnet6 {
    if (!(address instanceof Inet6Address)) {
      throw new AgentException.InvalidSpec(
          "%s is not an IPv6 address".formatted(IpText.of(address)));
    }
    if (prefixLength < 1 || prefixLength > LONGEST) {
      throw new AgentException.InvalidSpec(
          "IPv6 network %s/%d: the prefix must have 1 to %d bits"
              .formatted(IpText.of(address), prefixLength, LONGEST));
    }
    if (!Arrays.equals(address.getAddress(), masked(address.getAddress(), prefixLength))) {
      throw new AgentException.InvalidSpec(
          "%s/%d is not a network: bits are set behind the prefix"
              .formatted(IpText.of(address), prefixLength));
    }
  }

  /** Whether this is meant to be an IPv6 network, right or wrong. */
  public static boolean looksLike(String text) {
    return text.indexOf(':') >= 0;
  }

  public static Subnet6 parse(String text) {
    var matcher = FORM.matcher(text);
    if (matcher.matches()) {
      try {
        return new Subnet6(
            InetAddress.ofLiteral(matcher.group(1)), Integer.parseInt(matcher.group(2)));
      } catch (IllegalArgumentException _) {
        // said below
      }
    }
    throw new AgentException.InvalidSpec(
        "'%s' is not an IPv6 network; write one like fd12:3456:789a:1::/64".formatted(text));
  }

  /** A unique local network (RFC 4193) of these 56 bits. */
  static Subnet6 uniqueLocal(byte[] random) {
    var bytes = new byte[16];
    bytes[0] = (byte) 0xfd;
    System.arraycopy(random, 0, bytes, 1, 7);
    return new Subnet6(of(bytes), GENERATED);
  }

  boolean overlaps(Subnet6 other) {
    int common = Math.min(prefixLength, other.prefixLength);
    return Arrays.equals(
        masked(address.getAddress(), common), masked(other.address.getAddress(), common));
  }

  public boolean contains(InetAddress candidate) {
    return candidate instanceof Inet6Address
        && Arrays.equals(masked(candidate.getAddress(), prefixLength), address.getAddress());
  }

  /** The host's own address in it. */
  public InetAddress gateway() {
    byte[] bytes = address.getAddress();
    bytes[15] |= 1;
    return of(bytes);
  }

  /** The address with the greatest number in it. */
  InetAddress last() {
    byte[] bytes = address.getAddress();
    for (int i = 0; i < bytes.length; i++) {
      int bits = Math.clamp(prefixLength - 8L * i, 0, 8);
      bytes[i] |= (byte) (0xff >> bits);
    }
    return of(bytes);
  }

  @Override
  public String toString() {
    return IpText.of(address) + "/" + prefixLength;
  }

  private static byte[] masked(byte[] bytes, int prefixLength) {
    byte[] masked = bytes.clone();
    for (int i = 0; i < masked.length; i++) {
      int bits = Math.clamp(prefixLength - 8L * i, 0, 8);
      masked[i] &= (byte) (0xff00 >> bits);
    }
    return masked;
  }

  private static InetAddress of(byte[] bytes) {
    try {
      return InetAddress.getByAddress(bytes);
    } catch (UnknownHostException e) {
      throw new AgentException.Internal("sixteen bytes are an address", e);
    }
  }
}
