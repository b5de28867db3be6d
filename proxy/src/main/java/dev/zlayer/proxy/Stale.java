package dev.zlayer.proxy;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Conntrack;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;
import java.util.Locale;
import java.util.Set;

/**
 * What the kernel remembers about members that are gone. A client that takes a port again would be
 * led by that memory to an address where nobody answers, or by now somebody else.
 */
final class Stale {
  private static final Duration LIMIT = Duration.ofSeconds(10);

  private Stale() {}

  /**
   * Without the program, which {@code zlayer info} tells, the memory fades within minutes.
   *
   * <p>Only what misleads is dropped. Ended connections are many, and the program lists them all
   * before it deletes the first: by then a client may have taken one of their ports again, and its
   * new connection to another member would be the one that is forgotten.
   */
  static void forget(Set<InetAddress> addresses) throws InterruptedException {
    for (InetAddress address : addresses) {
      if (address.isLoopbackAddress()) {
        continue; // members on the machine's own network share it with everybody
      }
      try {
        for (String kind : Conntrack.sticky(address)) {
          delete(address, kind);
        }
      } catch (AgentException | IOException _) {
        return;
      }
    }
  }

  /** {@code kind} is a protocol, or a state of a TCP connection. */
  private static void delete(InetAddress address, String kind) throws InterruptedException {
    String server = address.getHostAddress();
    boolean protocol = kind.equals(kind.toLowerCase(Locale.ROOT));
    Command command =
        protocol
            ? Command.of("conntrack", "-D", "-f", "ipv4", "-p", kind, "--reply-src", server)
            : Command.of(
                "conntrack",
                "-D",
                "-f",
                "ipv4",
                "-p",
                "tcp",
                "--state",
                kind,
                "--reply-src",
                server);
    CommandResult _ = Processes.run(command, Deadline.after(LIMIT));
  }
}
