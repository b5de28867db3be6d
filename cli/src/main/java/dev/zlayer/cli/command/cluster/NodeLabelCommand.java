package dev.zlayer.cli.command.cluster;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "label",
    description = "Set labels of a node, or remove them",
    footer = {"", "  zlayer node label one disk=ssd zone-    sets disk and removes zone"})
public final class NodeLabelCommand extends ClientCommand {
  @Parameters(index = "0", paramLabel = "NODE", description = "Name or id")
  private String node = "";

  @Parameters(
      index = "1..*",
      arity = "1..*",
      paramLabel = "LABEL",
      description = "NAME=VALUE to set, NAME- to remove")
  private List<String> labels = List.of();

  public NodeLabelCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Map<String, String> set = new LinkedHashMap<>();
    List<String> removed = new ArrayList<>();
    for (String label : labels) {
      int equals = label.indexOf('=');
      if (equals > 0) {
        set.put(label.substring(0, equals), label.substring(equals + 1));
      } else if (equals < 0 && label.length() > 1 && label.endsWith("-")) {
        removed.add(label.substring(0, label.length() - 1));
      } else {
        throw new AgentException.InvalidSpec(
            "'%s' is not a label; write NAME=VALUE, or NAME- to remove it".formatted(label));
      }
    }
    Json _ =
        client.post(
            "/nodes/" + Query.segment(node) + "/labels",
            Query.NONE,
            Json.object().put("set", set).put("remove", removed).build());
    print(node);
    return 0;
  }
}
