package dev.zlayer.cluster.network;

import dev.zlayer.error.AgentException;
import java.util.Collection;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * The IPv4 addresses of one node's containers, or the range of which each node gets a part.
 *
 * @param address first byte in the highest bits; nothing set beyond the prefix
 */
public record NodeSubnet(int address, int prefixLength) {
  /** The addresses of all nodes of a cluster. */
  public static final String RANGE = "10.192.0.0/10";

  /** Leaves 256 nodes with 63 networks of 254 containers each. */
  public static final int PART_LENGTH = 18;

  private static final Pattern FORM =
      Pattern.compile("(\\d{1,3})\\.(\\d{1,3})\\.(\\d{1,3})\\.(\\d{1,3})/(\\d{1,2})");

  public NodeSubnet {
    if (prefixLength < 1 || prefixLength > 32 || (address & ~mask(prefixLength)) != 0) {
      throw new AgentException.InvalidSpec(
          "%s/%d is not a network: bits are set behind the prefix"
              .formatted(print(address), prefixLength));
    }
  }

  public static NodeSubnet parse(String text) {
    var form = FORM.matcher(text);
    if (!form.matches()) {
      throw new AgentException.InvalidSpec(
          "'%s' is not an IPv4 network; write one like 10.192.0.0/10".formatted(text));
    }
    int address = 0;
    for (int group = 1; group <= 4; group++) {
      int part = Integer.parseInt(form.group(group));
      if (part > 255) {
        throw new AgentException.InvalidSpec("'%s' has a part above 255".formatted(text));
      }
      address = address << 8 | part;
    }
    return new NodeSubnet(address, Integer.parseInt(form.group(5)));
  }

  /**
   * The first part of this range that overlaps nothing that is taken: neither the subnet of another
   * node, nor a network that a host of the cluster uses otherwise.
   */
  public Optional<NodeSubnet> allocate(int partLength, Collection<NodeSubnet> taken) {
    if (partLength < prefixLength || partLength > 30) {
      throw new AgentException.InvalidSpec(
          "a node cannot have a /%d of %s".formatted(partLength, this));
    }
    return IntStream.range(0, 1 << (partLength - prefixLength))
        .mapToObj(number -> new NodeSubnet(address + (number << (32 - partLength)), partLength))
        .filter(part -> taken.stream().noneMatch(part::overlaps))
        .findFirst();
  }

  public boolean overlaps(NodeSubnet other) {
    int mask = mask(Math.min(prefixLength, other.prefixLength));
    return (address & mask) == (other.address & mask);
  }

  public boolean contains(NodeSubnet part) {
    return part.prefixLength >= prefixLength && overlaps(part);
  }

  /** The node's own address on the overlay: the first one, which no container ever gets. */
  String first() {
    return print(address);
  }

  /** Follows from that address, so nobody has to be asked for it. */
  String mac() {
    return "0a:58:%02x:%02x:%02x:%02x"
        .formatted(address >>> 24, address >>> 16 & 0xff, address >>> 8 & 0xff, address & 0xff);
  }

  private static int mask(int length) {
    return -1 << (32 - length);
  }

  private static String print(int address) {
    return "%d.%d.%d.%d"
        .formatted(address >>> 24, address >>> 16 & 0xff, address >>> 8 & 0xff, address & 0xff);
  }

  @Override
  public String toString() {
    return print(address) + "/" + prefixLength;
  }
}
