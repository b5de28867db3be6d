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
    name = "restart",
    description = "Restart deployments or services, replica by replica, or containers")
public final class RestartCommand extends EachCommand {
  @Option(
      names = {"-t", "--time"},
      paramLabel = "DURATION",
      description =
          "Time to wait before the process is killed, e.g. 10s (default: the container's own);"
              + " containers only")
  private @Nullable String grace;

  public RestartCommand(Session session) {
    super(session);
  }

  @Override
  Json one(DaemonClient client, Target target) throws InterruptedException {
    if (target.service()) {
      StopTimeout.refuse(grace, target.text());
      return client.post(target.servicePath() + "/restart", Query.NONE);
    }
    if (deployment(client, target)) {
      StopTimeout.refuse(grace, target.text());
      return client.post("/deployments/" + Query.segment(target.text()) + "/restart", Query.NONE);
    }
    Optional<String> time = StopTimeout.parse(grace);
    return new StopCountdown(session)
        .during(
            client,
            target,
            time,
            () -> client.post(target.path() + "/restart", Query.NONE.andIf("grace", time)));
  }
}
