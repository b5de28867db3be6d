package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(name = "rm", aliases = "remove", description = "Remove secrets")
public final class SecretRemoveCommand extends ClientCommand {
  @Option(names = "--deployment", paramLabel = "NAME", description = "Deployment of the secret")
  private @Nullable String deployment;

  @Parameters(paramLabel = "NAME", arity = "1..*", description = "Secret names")
  private List<String> names = List.of();

  public SecretRemoveCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    Query query = Query.NONE.andIf("deployment", Optional.ofNullable(deployment));
    return forEach(
        names,
        name -> {
          client.delete("/secrets/" + Query.segment(name), query);
          print(name);
        });
  }
}
