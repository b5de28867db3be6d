package dev.zlayer.runtime.cni;

import dev.zlayer.error.AgentException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * An IPv4 network in the form {@code 10.89.0.0/16}. Pure.
 *
 * @param address first byte in the highest bits; nothing set beyond the prefix
 */
public record Subnet(int address, int prefixLength) {
  /** The default network has room for all ports a bridge can have, which are 1,023. */
  static final int DEFAULT_NETWORK = 21;

  static final int NAMED_NETWORK = 24;

  private static final Pattern FORM =
      Pattern.compile("(\\d{1,3})\\.(\\d{1,3})\\.(\\d{1,3})\\.(\\d{1,3})/(\\d{1,2})");

  public Subnet {
    if (prefixLength < 0 || prefixLength > 32 || (address & ~mask(prefixLength)) != 0) {
      throw new AgentException.InvalidSpec(
          "%s/%d is not a network: bits are set behind the prefix"
              .formatted(print(address), prefixLength));
    }
  }

  public static Subnet parse(String text) {
    var matcher = FORM.matcher(text);
    if (!matcher.matches()) {
      throw new AgentException.InvalidSpec(
          "'%s' is not an IPv4 network; write one like 10.89.0.0/16".formatted(text));
    }
    int address = 0;
    for (int group = 1; group <= 4; group++) {
      int part = Integer.parseInt(matcher.group(group));
      if (part > 255) {
        throw new AgentException.InvalidSpec("'%s' has a part above 255".formatted(text));
      }
      address = address << 8 | part;
    }
    return new Subnet(address, Integer.parseInt(matcher.group(5)));
  }

  public boolean overlaps(Subnet other) {
    int mask = mask(Math.min(prefixLength, other.prefixLength));
    return (address & mask) == (other.address & mask);
  }

  public boolean contains(InetAddress candidate) {
    return candidate instanceof Inet4Address && (number(candidate) & mask(prefixLength)) == address;
  }

  /** The address that many after the first one, which is the network's own. */
  public InetAddress host(int number) {
    return InetAddress.ofLiteral(print(address + number));
  }

  /** Which {@link #host} an address of this network is. */
  int position(InetAddress member) {
    return number(member) - address;
  }

  /** How many addresses it has. */
  int size() {
    return 1 << (32 - prefixLength);
  }

  InetAddress last() {
    return host(size() - 1);
  }

  /** The first part of this range. */
  Subnet first(int partLength) {
    return new Subnet(address, partLength);
  }

  /** The first part of this range, of the given size, that overlaps none of those taken. */
  Optional<Subnet> free(int partLength, List<Subnet> taken) {
    Predicate<Subnet> untouched = part -> taken.stream().noneMatch(part::overlaps);
    return IntStream.range(0, 1 << (partLength - prefixLength))
        .mapToObj(number -> new Subnet(address + (number << (32 - partLength)), partLength))
        .filter(untouched)
        .findFirst();
  }

  @Override
  public String toString() {
    return print(address) + "/" + prefixLength;
  }

  private static int mask(int prefixLength) {
    return prefixLength == 0 ? 0 : -1 << (32 - prefixLength);
  }

  private static int number(InetAddress address) {
    int number = 0;
    for (byte part : address.getAddress()) {
      number = number << 8 | (part & 0xff);
    }
    return number;
  }

  private static String print(int address) {
    byte[] bytes = {
      (byte) (address >> 24), (byte) (address >> 16), (byte) (address >> 8), (byte) address
    };
    try {
      return InetAddress.getByAddress(bytes).getHostAddress();
    } catch (UnknownHostException e) {
      throw new AgentException.Internal("four bytes are an address", e);
    }
  }
}
