package dev.zlayer.host.net;

import java.net.InetAddress;
import java.util.List;

/** Copies what arrives at a port of this host to members, where the kernel cannot forward it. */
public sealed interface PortRelay extends AutoCloseable permits Relay, DatagramRelay, LocalRelays {
  /** The members that get what is new. */
  void members(List<InetAddress> members);

  /** How many connections or exchanges a member has. */
  int connections(InetAddress member);

  /** Ends everything that is relayed. */
  @Override
  void close() throws InterruptedException;
}
