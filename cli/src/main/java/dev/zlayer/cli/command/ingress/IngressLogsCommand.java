package dev.zlayer.cli.command.ingress;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.JsonLines;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "logs",
    description = "Show the access log of a service, one JSON object per request, oldest first")
public final class IngressLogsCommand extends ClientCommand {
  @Option(
      names = {"-f", "--follow"},
      description = "Follow new requests")
  private boolean follow;

  @Option(
      names = "--since",
      paramLabel = "WHEN",
      description =
          "Show only requests since a duration ago or a time, e.g. 10m or 2026-11-15T08:00:00Z")
  private @Nullable String since;

  @Option(
      names = {"-n", "--tail"},
      paramLabel = "COUNT",
      description = "Show only the last requests, and new ones with --follow")
  private @Nullable Integer tail;

  @Parameters(paramLabel = "SERVICE", description = "deployment/service")
  private String name = "";

  public IngressLogsCommand(Session session) {
    super(session);
  }

  @Override
  protected boolean streams() {
    return follow;
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Query query =
        Query.NONE
            .flag("follow", follow)
            .andIf("since", Optional.ofNullable(since))
            .andIf("tail", Optional.ofNullable(tail));
    try (JsonLines lines = client.stream(IngressModeCommand.path(name) + "/logs", query)) {
      for (Optional<Json> line = lines.next(); line.isPresent(); line = lines.next()) {
        print(JsonText.print(line.get()));
        if (follow) {
          session.out().flush();
        }
      }
    }
    return 0;
  }
}
