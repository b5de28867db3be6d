package dev.zlayer.host.net;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;

/**
 * Places that mean something else on every machine: its loopback, its link (where clouds keep the
 * credentials of machines), the wildcard. Whoever is elsewhere may not send the agent there,
 * neither by an address nor by a name that resolves to one.
 */
public final class LocalTargets {
  private LocalTargets() {}

  /** Whether a server at {@code from} may refer the agent to {@code target}; both are hosts. */
  public static boolean mayRefer(String from, String target) {
    return from.equalsIgnoreCase(target) || !local(target) || local(from);
  }

  /**
   * The JDK keeps what a name resolves to for some seconds, so that a connection made at once goes
   * where this has looked.
   */
  private static boolean local(String host) {
    try {
      return Arrays.stream(InetAddress.getAllByName(host)).anyMatch(LocalTargets::local);
    } catch (UnknownHostException _) {
      return false; // nothing can be reached by it, or only through a proxy that knows it
    }
  }

  private static boolean local(InetAddress address) {
    return address.isLoopbackAddress()
        || address.isLinkLocalAddress()
        || address.isAnyLocalAddress()
        || address.isMulticastAddress();
  }
}
