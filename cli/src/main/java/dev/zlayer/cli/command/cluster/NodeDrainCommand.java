package dev.zlayer.cli.command.cluster;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.time.Duration;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "drain",
    description = "Move the replicas of nodes to other nodes, and give them no new ones")
public final class NodeDrainCommand extends ClientCommand {
  private static final Duration STEP = Duration.ofMillis(500);

  @Option(
      names = "--wait",
      paramLabel = "DURATION",
      description = "Time to wait until all replicas have moved (default: 2m; 0s does not wait)")
  private String wait = "2m";

  @Parameters(paramLabel = "NODE", arity = "1..*", description = "Names or ids")
  private List<String> nodes = List.of();

  public NodeDrainCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    Json change = Json.object().put("scheduling", "draining").build();
    return forEach(
        nodes,
        name -> {
          Json _ = client.post("/nodes/" + Query.segment(name) + "/scheduling", Query.NONE, change);
          moved(client, name, Deadline.after(Durations.parse(wait)));
          print(name);
        });
  }

  private void moved(DaemonClient client, String name, Deadline deadline)
      throws InterruptedException {
    if (deadline.limit().isZero()) {
      return;
    }
    while (true) {
      long left = client.get("/nodes/" + Query.segment(name)).at("replicas").integer().orElse(0L);
      if (left == 0) {
        return;
      }
      if (deadline.passed()) {
        throw new AgentException.Conflict(
            "%d replicas are still on node '%s'; 'zlayer status' says why they fit nowhere else"
                .formatted(left, name));
      }
      Pauses.REAL.pause(STEP);
    }
  }
}
