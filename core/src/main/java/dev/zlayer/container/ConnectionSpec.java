package dev.zlayer.container;

import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * How a container is connected to a network.
 *
 * @param aliases further names of the container there
 * @param addresses fixed ones, at most one of each kind; it gets free ones otherwise
 * @param mac the address of its interface, as hexadecimal pairs; any when absent
 * @param links names that this container alone has for others on the network
 * @param options recorded for whoever asked for them; they have no effect
 */
public record ConnectionSpec(
    List<String> aliases,
    List<InetAddress> addresses,
    Optional<String> mac,
    List<Link> links,
    Map<String, String> options) {
  public static final ConnectionSpec NONE = of(List.of());

  public ConnectionSpec {
    aliases = List.copyOf(aliases);
    addresses = List.copyOf(addresses);
    links = List.copyOf(links);
    options = Map.copyOf(options);
  }

  /** Another container of the network and a name for it. */
  public record Link(String container, String alias) {
    /** Reads {@code container:alias}; without an alias the container is called as it is. */
    public static Link parse(String text) {
      int colon = text.lastIndexOf(':');
      return colon < 0
          ? new Link(text, text)
          : new Link(text.substring(0, colon), text.substring(colon + 1));
    }

    @Override
    public String toString() {
      return container + ":" + alias;
    }
  }

  public static ConnectionSpec of(List<String> aliases) {
    return new ConnectionSpec(aliases, List.of(), Optional.empty(), List.of(), Map.of());
  }

  public ConnectionSpec withAddresses(List<InetAddress> addresses) {
    return new ConnectionSpec(aliases, addresses, mac, links, options);
  }

  /** The same with one more alias. */
  public ConnectionSpec withAlias(String alias) {
    var more = new java.util.ArrayList<>(aliases);
    more.add(alias);
    return new ConnectionSpec(more, addresses, mac, links, options);
  }

  public ConnectionSpec withMac(Optional<String> mac) {
    return new ConnectionSpec(aliases, addresses, mac, links, options);
  }

  public ConnectionSpec withLinks(List<Link> links) {
    return new ConnectionSpec(aliases, addresses, mac, links, options);
  }

  /** Whether nothing but aliases is asked for. */
  public boolean onlyAliases() {
    return equals(of(aliases));
  }
}
