package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.ClientCommand;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "start",
    description = "Start the daemon in the background, unless it is already running",
    footer = {
      "",
      "Settings come from the configuration file and from the current environment",
      "(ZLAYER_DATA_DIR, ZLAYER_SOCKET ...). The log is daemon.log in the data directory."
    })
public final class DaemonStartCommand extends ClientCommand {
  @Option(
      names = {"-q", "--quiet"},
      description = "Print errors only")
  private boolean quiet;

  public DaemonStartCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    if (client.listens()) {
      say("a daemon is already running at " + client.address().http());
      return 0;
    }
    var daemon = BackgroundDaemon.of(session);
    daemon.start(client, this::say);
    say("daemon started at %s, log file %s".formatted(client.address().http(), daemon.log()));
    client.get("/info").at("warnings").strings().forEach(one -> say("warning: " + one));
    return 0;
  }

  private void say(String text) {
    if (!quiet) {
      tell(text);
    }
  }
}
