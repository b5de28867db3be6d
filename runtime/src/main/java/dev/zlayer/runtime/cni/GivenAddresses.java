package dev.zlayer.runtime.cni;

import dev.zlayer.container.IpText;
import dev.zlayer.error.AgentException;
import java.math.BigInteger;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** From where the plugin that gives addresses takes them on a network, in its own words. Pure. */
final class GivenAddresses {
  private GivenAddresses() {}

  /** A fixed address may be anywhere in the subnet. */
  static List<Map<String, String>> of(NamedNetwork network, boolean fixed) {
    NetworkOptions options = network.options();
    Subnet subnet = network.subnet();
    var common = new LinkedHashMap<String, String>();
    common.put("subnet", subnet.toString());
    options.gateway().ifPresent(ip -> common.put("gateway", IpText.of(ip)));
    Optional<Subnet> part = options.range().filter(_ -> !fixed);
    List<InetAddress> reserved = reserved(options, false);
    if (part.isEmpty() && reserved.isEmpty()) {
      return List.of(common);
    }
    Subnet from = part.orElse(subnet);
    boolean first = from.host(0).equals(subnet.host(0));
    boolean last = from.last().equals(subnet.last());
    int end = from.size() - 1;
    return without(common, reserved, from.host(first ? 1 : 0), from.host(last ? end - 1 : end));
  }

  static List<Map<String, String>> ofIpv6(NamedNetwork network, Subnet6 subnet, boolean fixed) {
    NetworkOptions options = network.options();
    Map<String, String> common =
        Map.of(
            "subnet",
            subnet.toString(),
            "gateway",
            IpText.of(options.gatewayIpv6().orElseGet(subnet::gateway)));
    Optional<Subnet6> part = options.rangeIpv6().filter(_ -> !fixed);
    List<InetAddress> reserved = reserved(options, true);
    if (part.isEmpty() && reserved.isEmpty()) {
      return List.of(common);
    }
    Subnet6 from = part.orElse(subnet);
    boolean first = from.address().equals(subnet.address());
    InetAddress start =
        first ? address(number(from.address()).add(BigInteger.ONE), 16) : from.address();
    return without(common, reserved, start, from.last());
  }

  private static List<InetAddress> reserved(NetworkOptions options, boolean ipv6) {
    return options.reserved().values().stream()
        .filter(address -> address instanceof Inet6Address == ipv6)
        .toList();
  }

  /** The ranges that are left between reserved addresses. */
  private static List<Map<String, String>> without(
      Map<String, String> common, List<InetAddress> reserved, InetAddress start, InetAddress end) {
    int bytes = start.getAddress().length;
    var ranges = new ArrayList<Map<String, String>>();
    BigInteger next = number(start);
    for (BigInteger hole :
        reserved.stream().map(GivenAddresses::number).sorted().distinct().toList()) {
      if (hole.compareTo(next) >= 0 && hole.compareTo(number(end)) <= 0) {
        add(ranges, common, next, hole.subtract(BigInteger.ONE), bytes);
        next = hole.add(BigInteger.ONE);
      }
    }
    add(ranges, common, next, number(end), bytes);
    return ranges;
  }

  private static void add(
      List<Map<String, String>> ranges,
      Map<String, String> common,
      BigInteger first,
      BigInteger last,
      int bytes) {
    if (first.compareTo(last) <= 0) {
      var range = new LinkedHashMap<>(common);
      range.put("rangeStart", IpText.of(address(first, bytes)));
      range.put("rangeEnd", IpText.of(address(last, bytes)));
      ranges.add(range);
    }
  }

  private static BigInteger number(InetAddress address) {
    return new BigInteger(1, address.getAddress());
  }

  private static InetAddress address(BigInteger number, int bytes) {
    byte[] digits = number.toByteArray();
    var address = new byte[bytes];
    int count = Math.min(digits.length, bytes);
    System.arraycopy(digits, digits.length - count, address, bytes - count, count);
    try {
      return InetAddress.getByAddress(address);
    } catch (UnknownHostException e) {
      throw new AgentException.Internal("four or sixteen bytes are an address", e);
    }
  }
}
