package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.ClientCommand;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "start",
    description = "Start the daemon in the background; one that runs is left alone.",
    footer = {
      "",
      "It takes its settings from the configuration file and from the variables that are set",
      "here (ZLAYER_DATA_DIR, ZLAYER_SOCKET ...). Its log is daemon.log in the data directory."
    })
public final class DaemonStartCommand extends ClientCommand {
  @Option(
      names = {"-q", "--quiet"},
      description = "Print only problems.")
  private boolean quiet;

  public DaemonStartCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    if (client.answers()) {
      say("a daemon already runs at " + client.address().http());
      return 0;
    }
    var daemon = BackgroundDaemon.of(session);
    daemon.start(client, this::say);
    say("the daemon runs at %s, its log is %s".formatted(client.address().http(), daemon.log()));
    return 0;
  }

  private void say(String text) {
    if (!quiet) {
      tell(text);
    }
  }
}
