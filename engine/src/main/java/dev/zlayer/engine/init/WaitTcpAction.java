package dev.zlayer.engine.init;

import dev.zlayer.error.Durations;
import dev.zlayer.spec.service.InitAction.WaitTcp;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.Optional;

/** Waits until a port accepts connections. */
final class WaitTcpAction implements PreparedAction {
  /** A peer that answers nothing at all must not use up the whole time in one attempt. */
  private static final Duration LONGEST_ATTEMPT = Duration.ofSeconds(5);

  private final WaitTcp wanted;
  private final SiblingNames siblings;
  private final Pauses pauses;

  WaitTcpAction(WaitTcp wanted, SiblingNames siblings, Pauses pauses) {
    this.wanted = wanted;
    this.siblings = siblings;
    this.pauses = pauses;
  }

  @Override
  public String perform(Deadline deadline) throws InterruptedException {
    Deadline end = deadline.atMost(wanted.timeout());
    String last = "no attempt was made";
    while (!end.passed()) {
      try {
        connect(end);
        return "";
      } catch (IOException e) {
        last = e.getMessage() == null ? e.toString() : e.getMessage();
      }
      pauses.pause(end.atMost(wanted.interval()).left());
    }
    throw new ActionFailed(
        "%s:%d did not accept connections within %s: %s"
            .formatted(wanted.host(), wanted.port(), Durations.print(wanted.timeout()), last),
        "");
  }

  private void connect(Deadline end) throws IOException, InterruptedException {
    try (var socket = new Socket()) {
      // the name is looked up anew each time: it may appear while we wait
      Optional<InetAddress> sibling = siblings.find(wanted.host());
      var address =
          sibling
              .map(found -> new InetSocketAddress(found, wanted.port()))
              .orElseGet(() -> new InetSocketAddress(wanted.host(), wanted.port()));
      if (address.isUnresolved()) {
        throw new IOException("the name " + wanted.host() + " is not known");
      }
      socket.connect(address, (int) Math.max(1, end.atMost(LONGEST_ATTEMPT).left().toMillis()));
    } catch (IOException e) {
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      throw e;
    }
  }
}
