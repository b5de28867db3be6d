package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "rm",
    aliases = "remove",
    description = "Remove volumes that nothing uses, with all that is in them.")
public final class VolumeRemoveCommand extends ClientCommand {
  @Option(
      names = {"-q", "--quiet"},
      description = "Print nothing.")
  private boolean quiet;

  @Parameters(paramLabel = "VOLUME", arity = "1..*", description = "Their names.")
  private List<String> names = List.of();

  public VolumeRemoveCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    return forEach(
        names,
        name -> {
          client.delete("/volumes/" + Query.segment(name), Query.NONE);
          if (!quiet) {
            print(name);
          }
        });
  }
}
