package dev.zlayer.engine.health;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import dev.zlayer.port.Container;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;

/** Makes one check; whatever goes wrong with it is a result, not an exception. */
public final class Prober {
  private static final int KEPT_BYTES = 2000;

  private final HttpProbe http;

  public Prober() {
    this.http = new HttpProbe();
  }

  /** Blocks until the check has a result, at most about {@code timeout}. */
  public ProbeResult check(Probe probe, Container container, Duration timeout)
      throws InterruptedException {
    try {
      return switch (probe) {
        case Probe.Alive() -> alive(container);
        case Probe.Tcp(int port) -> tcp(container, port, timeout);
        case Probe.Http wanted ->
            address(container)
                .map(address -> http.check(wanted, address, timeout))
                .orElseGet(Prober::noAddress);
        case Probe.Command command -> run(command, container, timeout);
      };
    } catch (AgentException e) {
      return ProbeResult.bad(String.valueOf(e.getMessage()));
    } catch (UncheckedIOException e) {
      return ProbeResult.bad(String.valueOf(e.getCause()));
    } catch (RuntimeException e) {
      return ProbeResult.bad("the check cannot be made: " + e.getMessage());
    }
  }

  private static ProbeResult alive(Container container) {
    boolean running = container.status() instanceof ContainerStatus.Running;
    return running ? ProbeResult.good("running") : ProbeResult.bad("not running");
  }

  private static ProbeResult tcp(Container container, int port, Duration timeout) {
    Optional<InetAddress> address = address(container);
    if (address.isEmpty()) {
      return noAddress();
    }
    try (var socket = new Socket()) {
      socket.connect(new InetSocketAddress(address.get(), port), millis(timeout));
      return ProbeResult.good("port %d accepts connections".formatted(port));
    } catch (SocketTimeoutException _) {
      return ProbeResult.bad(
          "port %d did not answer within %s".formatted(port, Durations.print(timeout)));
    } catch (IOException e) {
      return ProbeResult.bad("port %d: %s".formatted(port, e.getMessage()));
    }
  }

  private static ProbeResult run(Probe.Command command, Container container, Duration timeout)
      throws InterruptedException {
    // the session is closed first: that ends the process, and so those who read its output
    try (var scope = new TaskScope("health command");
        var session = container.exec(ExecSpec.of(command.words().toArray(String[]::new)))) {
      TaskScope.Task<String> out = scope.fork(() -> beginning(session.stdout()));
      TaskScope.Task<String> err = scope.fork(() -> beginning(session.stderr()));
      ExitStatus exit = session.await(Deadline.after(timeout));
      scope.join();
      String output = (out.result() + err.result()).strip();
      return new ProbeResult(
          exit.success(), output.isEmpty() ? exit.text() : exit.text() + ": " + output);
    } catch (AgentException.Timeout _) {
      return ProbeResult.bad(
          "the command did not end within %s".formatted(Durations.print(timeout)));
    }
  }

  /** Reads all, keeps the first part. */
  private static String beginning(InputStream stream) throws IOException {
    byte[] kept = stream.readNBytes(KEPT_BYTES);
    stream.transferTo(java.io.OutputStream.nullOutputStream());
    return new String(kept, StandardCharsets.UTF_8);
  }

  /** Where the ports of a container are; the machine itself when it uses the machine's network. */
  public static Optional<InetAddress> address(Container container) {
    return container.spec().network().mode() instanceof NetworkSpec.Mode.Host
        ? Optional.of(InetAddress.getLoopbackAddress())
        : container.ip();
  }

  private static ProbeResult noAddress() {
    return ProbeResult.bad("the container has no address to connect to");
  }

  static int millis(Duration timeout) {
    return Math.clamp(timeout.toMillis(), 1, Integer.MAX_VALUE);
  }
}
