package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.container.Signal;
import dev.zlayer.json.Json;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(name = "kill", description = "Send a signal to the main process of containers")
public final class KillCommand extends EachCommand {
  @Option(
      names = {"-s", "--signal"},
      paramLabel = "SIGNAL",
      description = "Signal name or number (default: KILL)")
  private String signal = "KILL";

  public KillCommand(Session session) {
    super(session);
  }

  @Override
  Json one(DaemonClient client, Target target) throws InterruptedException {
    return client.post(
        target.path() + "/kill", Query.of("signal", Signal.parse(signal).signalName()));
  }
}
