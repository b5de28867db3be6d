package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.json.Json;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "create",
    description = "Create a token and print its secret, which is not shown again",
    footer = {
      "",
      "A read-only token may do what the read-only socket offers. A token of a deployment sees",
      "and changes that deployment alone: status, containers, logs, exec, jobs, secrets, and in",
      "its file image, command, scale and update. Use it with ZLAYER_HOST and ZLAYER_TOKEN."
    })
public final class TokenCreateCommand extends AnswerCommand {
  @ArgGroup(exclusive = true, multiplicity = "1")
  private Scope scope = new Scope();

  /** One of them. */
  static final class Scope {
    @Option(names = "--read-only", description = "Allow reading only")
    private boolean readOnly;

    @Option(names = "--deployment", paramLabel = "NAME", description = "Allow this deployment only")
    private @Nullable String deployment;
  }

  @Option(
      names = "--expires",
      paramLabel = "DURATION",
      description = "Time until it expires, e.g. 90d (default: never)")
  private @Nullable String expires;

  @Option(
      names = "--name",
      paramLabel = "NAME",
      description = "Name in lists and in the audit log (default: its id)")
  private @Nullable String name;

  public TokenCreateCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json answer =
        client.post(
            "/tokens",
            Query.NONE,
            Json.object()
                .putIf("name", Optional.ofNullable(name))
                .put("read_only", scope.readOnly)
                .putIf("deployment", Optional.ofNullable(scope.deployment))
                .putIf("expires", Optional.ofNullable(expires))
                .build());
    show(answer, () -> text(answer, "secret") + "\n");
    return 0;
  }
}
