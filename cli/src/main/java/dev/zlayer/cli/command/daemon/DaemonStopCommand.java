package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "stop",
    description = "Stop the daemon; containers keep running and the next daemon adopts them",
    footer = {"", "Stops the one that --socket, ZLAYER_SOCKET or ZLAYER_DATA_DIR names, no other."})
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
    if (!client.address().local()) {
      throw new AgentException.InvalidSpec(
          "the daemon at %s is not stopped from here: unset ZLAYER_HOST, or stop it on its machine"
              .formatted(client.address().http()));
    }
    Optional<ProcessHandle> process = BackgroundDaemon.of(session).process(client);
    if (process.isPresent()) {
      BackgroundDaemon.stop(process.get(), Durations.parse(patience));
    } else if (client.answers()) {
      throw new AgentException.Configuration(
          "the daemon at %s is no process of this machine: stop it where it runs"
              .formatted(client.address().http()));
    }
    if (!quiet) {
      tell(
          process.isPresent()
              ? "daemon stopped; containers keep running"
              : "no daemon at " + client.address().http());
    }
    return 0;
  }
}
