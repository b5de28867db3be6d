package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.ClientCommand;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(name = "rm", aliases = "remove", description = "Remove secrets")
public final class SecretRemoveCommand extends ClientCommand {
  @Option(names = "--deployment", paramLabel = "NAME", description = "Deployment of the secret")
  private @Nullable String deployment;

  @Option(names = "--local", description = "In a cluster: remove those of this node alone")
  private boolean local;

  @Parameters(
      paramLabel = "NAME",
      arity = "1..*",
      description = "Secret names; @service/name for one service")
  private List<String> names = List.of();

  public SecretRemoveCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    return forEach(
        names,
        name -> {
          SecretPath secret = SecretPath.parse(name, deployment);
          client.delete(secret.path(), secret.query(local));
          print(name);
        });
  }
}
