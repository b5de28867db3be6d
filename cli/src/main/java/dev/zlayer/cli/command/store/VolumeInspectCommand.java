package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.json.JsonText;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(name = "inspect", description = "Show volume details; always prints JSON")
public final class VolumeInspectCommand extends AnswerCommand {
  @Option(
      names = "--node",
      paramLabel = "NAME",
      description = "In a cluster: node (default: the one that is asked, else the one that has it)")
  private @Nullable String node;

  @Parameters(paramLabel = "VOLUME", description = "Volume name")
  private String name = "";

  public VolumeInspectCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    session
        .out()
        .print(
            JsonText.pretty(
                client.get(
                    "/volumes/" + Query.segment(name),
                    Query.NONE.andIf("node", Optional.ofNullable(node)))));
    return 0;
  }
}
