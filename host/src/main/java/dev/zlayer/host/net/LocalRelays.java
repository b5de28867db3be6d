package dev.zlayer.host.net;

import dev.zlayer.host.linux.Links;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/**
 * A port of this host at the IPv6 addresses from which the kernel forwards nothing: ::1, and those
 * that interfaces have on their links.
 */
public final class LocalRelays implements PortRelay {
  private static final InetAddress LOOPBACK = InetAddress.ofLiteral("::1");

  private final List<PortRelay> relays;

  private LocalRelays(List<PortRelay> relays) {
    this.relays = List.copyOf(relays);
  }

  /** At ::1 alone; fails when another program has the port there. */
  public static LocalRelays loopback(boolean datagrams, int port, int targetPort)
      throws IOException {
    return new LocalRelays(List.of(open(datagrams, LOOPBACK, port, targetPort)));
  }

  /**
   * Also at the addresses that interfaces have on their links now, unless another program has the
   * port there.
   *
   * @param ours begins the names of interfaces that are left out
   */
  public static LocalRelays all(boolean datagrams, int port, int targetPort, String ours)
      throws IOException {
    var relays = new ArrayList<PortRelay>();
    relays.add(open(datagrams, LOOPBACK, port, targetPort));
    for (InetAddress address : Links.linkLocalAddresses(ours)) {
      try {
        relays.add(open(datagrams, address, port, targetPort));
      } catch (IOException _) {
        // not to be had at the moment: the other addresses of the host answer
      }
    }
    return new LocalRelays(relays);
  }

  private static PortRelay open(boolean datagrams, InetAddress address, int port, int targetPort)
      throws IOException {
    var at = new InetSocketAddress(address, port);
    return datagrams ? DatagramRelay.open(at, targetPort) : Relay.open(at, targetPort);
  }

  @Override
  public void members(List<InetAddress> members) {
    relays.forEach(relay -> relay.members(members));
  }

  @Override
  public int connections(InetAddress member) {
    return relays.stream().mapToInt(relay -> relay.connections(member)).sum();
  }

  @Override
  public void close() throws InterruptedException {
    for (PortRelay relay : relays) {
      relay.close();
    }
  }
}
