package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.json.Json;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "stop",
    description =
        "Stop deployments, services or containers; a stopped service stays stopped until started")
public final class StopCommand extends EachCommand {
  /** Longer than any usual grace period; the daemon goes on when it passes. */
  private static final Query WAIT = Query.of("wait", "10m");

  @Option(
      names = {"-t", "--time"},
      paramLabel = "DURATION",
      description =
          "Time to wait before the process is killed, e.g. 10s (default: the container's own);"
              + " containers only")
  private @Nullable String grace;

  public StopCommand(Session session) {
    super(session);
  }

  @Override
  Json one(DaemonClient client, Target target) throws InterruptedException {
    if (target.service()) {
      StopTimeout.refuse(grace, target.text());
      return client.post(target.servicePath() + "/stop", WAIT);
    }
    if (deployment(client, target)) {
      StopTimeout.refuse(grace, target.text());
      return client.post("/deployments/" + Query.segment(target.text()) + "/stop", WAIT);
    }
    Optional<String> time = StopTimeout.parse(grace);
    return new StopCountdown(session)
        .during(
            client,
            target,
            time,
            () -> client.post(target.path() + "/stop", Query.NONE.andIf("grace", time)));
  }
}
