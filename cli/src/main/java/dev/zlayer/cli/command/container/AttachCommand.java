package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.json.Json;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "attach",
    description = "Attach to the main process of a running container",
    footer = {
      "",
      "^P^Q detaches from a container with a terminal. Without a terminal on this side, ^C is sent",
      "to the process; the third one detaches. Exits with the container's exit code."
    })
public final class AttachCommand extends ClientCommand {
  @Option(names = "--no-stdin", description = "Do not forward standard input")
  private boolean watch;

  @Option(names = "--logs", description = "Show earlier output first")
  private boolean logs;

  @Parameters(
      paramLabel = "CONTAINER",
      description = "Container as deployment/service[/replica], name or id")
  private String name = "";

  public AttachCommand(Session session) {
    super(session);
  }

  @Override
  protected boolean streams() {
    return true;
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Target target = Target.parse(name);
    Json details = client.get(target.path());
    boolean tty = Attaching.terminal(details) && session.keyboard();
    Query query = Query.of("stdin", !watch).and("logs", logs);
    var channel = client.connect(target.path() + "/attach/ws", query);
    Interaction.End end = new Interaction(session, channel, tty, true).run(!watch);
    return Attaching.finish(client, session, target, end);
  }
}
