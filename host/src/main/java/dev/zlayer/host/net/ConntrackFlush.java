package dev.zlayer.host.net;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Conntrack;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Deletes connection tracking entries that would forward a client to an address where nobody, or by
 * now somebody else, answers. Best effort: without the program {@code conntrack}, whose absence
 * {@code zlayer info} reports, entries expire by themselves within minutes; a client that never
 * pauses keeps its own.
 */
public final class ConntrackFlush {
  private static final System.Logger LOG = LazyLogger.of(ConntrackFlush.class);
  private static final Duration LIMIT = Duration.ofSeconds(10);

  private ConntrackFlush() {}

  /**
   * Entries that these addresses answer, of servers that are no more.
   *
   * <p>Only what misleads is dropped. Closed connections are many, and the program lists them all
   * before it deletes the first: by then a client may have taken one of their ports again, and its
   * new connection to another server would be the one that is dropped.
   */
  public static void servers(Collection<InetAddress> addresses) throws InterruptedException {
    for (InetAddress address : addresses) {
      if (address.isLoopbackAddress()) {
        continue; // servers on the network of the host share it with everybody
      }
      String server = address.getHostAddress();
      try {
        for (String kind : Conntrack.sticky(address)) {
          boolean protocol = kind.equals(kind.toLowerCase(Locale.ROOT));
          delete(
              address,
              protocol
                  ? List.of("-p", kind, "--reply-src", server)
                  : List.of("-p", "tcp", "--state", kind, "--reply-src", server));
        }
      } catch (AgentException | IOException e) {
        LOG.log(System.Logger.Level.WARNING, "cannot flush connections to " + server, e);
        return;
      }
    }
  }

  /**
   * Entries of datagrams to a port of this host that others than these servers answer: a client
   * that keeps sending would never meet its new server, since each datagram renews its entry.
   *
   * @param at the address of this host that was asked, if it matters
   */
  public static void datagrams(Optional<InetAddress> at, int port, Collection<InetAddress> servers)
      throws InterruptedException {
    try {
      for (String other : Conntrack.datagramServers(at, port)) {
        if (!servers.contains(InetAddress.ofLiteral(other))) {
          var arguments =
              new ArrayList<>(
                  List.of(
                      "-p",
                      "udp",
                      "--orig-port-dst",
                      Integer.toString(port),
                      "--reply-src",
                      other));
          at.ifPresent(
              address -> arguments.addAll(List.of("--orig-dst", address.getHostAddress())));
          delete(InetAddress.ofLiteral(other), arguments);
        }
      }
    } catch (AgentException | IOException e) {
      LOG.log(System.Logger.Level.WARNING, "cannot flush datagrams to port " + port, e);
    }
  }

  /** It exits with 1 when there is nothing left to delete. */
  private static void delete(InetAddress server, List<String> selection)
      throws InterruptedException {
    String family = server instanceof Inet6Address ? "ipv6" : "ipv4";
    var arguments = new ArrayList<>(List.of("conntrack", "-D", "-f", family));
    arguments.addAll(selection);
    CommandResult _ = Processes.run(Command.of(arguments), Deadline.after(LIMIT));
  }
}
