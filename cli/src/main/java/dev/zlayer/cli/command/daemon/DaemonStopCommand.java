package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "stop",
    description = "Stop the daemon; containers keep running and the next daemon adopts them")
public final class DaemonStopCommand extends ClientCommand {
  @Option(
      names = {"-t", "--time"},
      paramLabel = "DURATION",
      description = "Time the daemon may take to stop (default: 30s)")
  private String patience = "30s";

  @Option(
      names = {"-q", "--quiet"},
      description = "Print errors only")
  private boolean quiet;

  public DaemonStopCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    boolean stopped = BackgroundDaemon.of(session).stop(Durations.parse(patience));
    if (!stopped && client.answers()) {
      throw new AgentException.Configuration(
          "the daemon at %s has another data directory: set ZLAYER_DATA_DIR to its own"
              .formatted(client.address().http()));
    }
    if (!quiet) {
      tell(stopped ? "daemon stopped; containers keep running" : "no daemon is running");
    }
    return 0;
  }
}
