package dev.zlayer.proxy;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.port.Rotation.Member;
import dev.zlayer.port.Rotation.Members;
import dev.zlayer.task.Deadline;
import java.net.InetAddress;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What the kernel remembers about members that are gone. A client that takes a port again would be
 * led by that memory to an address where nobody answers, or by now somebody else.
 */
final class Stale {
  private static final Duration LIMIT = Duration.ofSeconds(10);

  private Stale() {}

  /** The addresses that were members' and are not any more. */
  static Set<InetAddress> between(@Nullable Members before, @Nullable Members after) {
    Set<InetAddress> gone = new HashSet<>(addresses(before));
    gone.removeAll(addresses(after));
    return gone;
  }

  private static Set<InetAddress> addresses(@Nullable Members service) {
    return service == null
        ? Set.of()
        : service.members().stream().map(Member::address).collect(Collectors.toSet());
  }

  /** Without the program, which {@code zlayer info} tells, the memory fades within minutes. */
  static void forget(Set<InetAddress> addresses) throws InterruptedException {
    for (InetAddress address : addresses) {
      if (address.isLoopbackAddress()) {
        continue; // members on the machine's own network share it with everybody
      }
      try {
        CommandResult _ =
            Processes.run(
                Command.of(
                    "conntrack", "-D", "-f", "ipv4", "--reply-src", address.getHostAddress()),
                Deadline.after(LIMIT));
      } catch (AgentException _) {
        return;
      }
    }
  }
}
