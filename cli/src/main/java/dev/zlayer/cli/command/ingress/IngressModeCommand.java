package dev.zlayer.cli.command.ingress;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Sets services aside, or resumes them. */
abstract class IngressModeCommand extends ClientCommand {
  private final String state;

  @Parameters(paramLabel = "SERVICE", arity = "1..*", description = "deployment/service")
  private List<String> names = List.of();

  IngressModeCommand(Session session, String state) {
    super(session);
    this.state = state;
  }

  /** Where the daemon has what the ingress knows of a service. */
  static String path(String name) {
    Target target = Target.parse(name);
    if (!target.service()) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a service, write deployment/service".formatted(name));
    }
    return "/ingress/services/"
        + Query.segment(target.parts().get(0))
        + "/"
        + Query.segment(target.parts().get(1));
  }

  Optional<String> hold() {
    return Optional.empty();
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    byte[] body = JsonText.bytes(Json.object().put("state", state).putIf("hold", hold()).build());
    return forEach(
        names,
        name -> {
          Json _ = client.send("PUT", path(name) + "/mode", Query.NONE, DaemonClient.JSON, body);
          print(name + ": " + state);
        });
  }

  @Command(
      name = "pause",
      description = "Let requests to services wait, e.g. while a database is migrated",
      footer = {"", "Requests that wait longer than --hold get status 503. Survives restarts."})
  static final class Pause extends IngressModeCommand {
    @Option(
        names = "--hold",
        paramLabel = "DURATION",
        description = "How long requests wait, e.g. 1m, at most 10m (default: 30s)")
    private @Nullable String hold;

    Pause(Session session) {
      super(session, "paused");
    }

    @Override
    Optional<String> hold() {
      return Optional.ofNullable(hold);
    }
  }

  @Command(
      name = "maintenance",
      description = "Answer requests to services with status 503 until they are resumed")
  static final class Maintenance extends IngressModeCommand {
    Maintenance(Session session) {
      super(session, "maintenance");
    }
  }

  @Command(name = "resume", description = "Send requests to services again")
  static final class Resume extends IngressModeCommand {
    Resume(Session session) {
      super(session, "serving");
    }
  }
}
