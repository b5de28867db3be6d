package dev.zlayer.cli.command;

import dev.zlayer.cli.Locations;
import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.ConnectionLost;
import dev.zlayer.cli.client.DaemonAddress;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.DaemonProblem;
import dev.zlayer.cli.client.Reconnecting;
import dev.zlayer.cli.terminal.OutputClosed;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.Announcement;
import dev.zlayer.host.http.HttpAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** A verb that asks the daemon for one thing and shows the answer. */
public abstract class ClientCommand implements Callable<Integer> {
  /** How long a restart of the daemon may take while a verb waits for something. */
  private static final Duration TIMEOUT = Duration.ofMinutes(2);

  protected final Session session;

  @Option(
      names = "--socket",
      paramLabel = "PATH",
      description = "Socket of the daemon (default: $ZLAYER_SOCKET, then $ZLAYER_HOST)")
  private @Nullable String socket;

  @Option(
      names = "--context",
      paramLabel = "NAME",
      description = "Daemon by its name in 'zlayer context ls' (default: $ZLAYER_CONTEXT)")
  private @Nullable String context;

  protected ClientCommand(Session session) {
    this.session = session;
  }

  @Override
  public final Integer call() throws Exception {
    try (DaemonClient client = open()) {
      int code = streams() ? untilOutputCloses(client) : run(client);
      client
          .missingNodes()
          .forEach(
              (node, reason) ->
                  tell(
                      "zlayer: warning: node '%s' %s; what it has is missing here"
                          .formatted(node, reason)));
      return code;
    }
  }

  /** Whether it goes on printing what happens; then it ends with the one who reads that. */
  protected boolean streams() {
    return false;
  }

  private int untilOutputCloses(DaemonClient client) throws Exception {
    Thread self = Thread.currentThread();
    var closed = new AtomicBoolean();
    Runnable end =
        () -> {
          closed.set(true);
          self.interrupt();
        };
    try (var _ = session.screen().onOutputClosed(end)) {
      return run(client);
    } catch (InterruptedException e) {
      throw closed.get() ? new OutputClosed() : e;
    }
  }

  protected abstract int run(DaemonClient client) throws Exception;

  /** Whether it asks for a process in a container, which the daemon can prepare for. */
  protected boolean startsProcess() {
    return false;
  }

  protected final DaemonClient open() {
    DaemonAddress address =
        Locations.daemon(session, Optional.ofNullable(socket), Optional.ofNullable(context));
    if (startsProcess() && address.http() instanceof HttpAddress.Unix(Path local)) {
      Announcement.announce(local);
    }
    return DaemonClient.open(address);
  }

  protected final void print(String line) {
    session.out().println(line);
  }

  protected final void tell(String line) {
    session.err().println(line);
  }

  /** Survives restarts of the daemon. */
  protected final Reconnecting reconnecting(DaemonClient client) {
    return new Reconnecting(client, TIMEOUT, notice -> tell("zlayer: " + notice));
  }

  /** Something to do for each of several things. */
  @FunctionalInterface
  protected interface ForEach {
    void one(String name) throws Exception;
  }

  /** Tries all; every failure is told, the first one decides the exit code. */
  protected final int forEach(List<String> names, ForEach work) throws Exception {
    int code = 0;
    for (String name : names) {
      int failed = 0;
      try {
        work.one(name);
      } catch (DaemonProblem problem) {
        tell("zlayer: " + problem.getMessage());
        failed = problem.blame().exitCode();
      } catch (AgentException e) {
        tell("zlayer: " + e.getMessage());
        failed = e.blame().exitCode();
      } catch (ConnectionLost e) {
        throw e; // without a daemon the others cannot do better
      }
      code = code == 0 ? failed : code;
    }
    return code;
  }
}
