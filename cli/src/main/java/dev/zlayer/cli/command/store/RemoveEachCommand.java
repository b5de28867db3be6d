package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import java.util.List;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Removes things by their names, and prints those that are gone. */
abstract class RemoveEachCommand extends ClientCommand {
  private final String path;

  @Option(
      names = {"-q", "--quiet"},
      description = "Do not print anything")
  private boolean quiet;

  @Parameters(paramLabel = "NAME", arity = "1..*", description = "Names")
  private List<String> names = List.of();

  RemoveEachCommand(Session session, String path) {
    super(session);
    this.path = path;
  }

  /** What is said about all of them. */
  protected Query query() {
    return Query.NONE;
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    return forEach(
        names,
        name -> {
          client.delete(path + Query.segment(name), query());
          if (!quiet) {
            print(name);
          }
        });
  }
}
