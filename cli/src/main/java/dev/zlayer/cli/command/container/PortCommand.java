package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "port",
    description = "List the published ports of a container, or where one of them is published",
    footer = {"", "Example:  zlayer port web 80    prints for instance 0.0.0.0:8080"})
public final class PortCommand extends AnswerCommand {
  @Parameters(
      index = "0",
      paramLabel = "CONTAINER",
      description = "Container as deployment/service[/replica], name or id")
  private String name = "";

  @Parameters(
      index = "1",
      arity = "0..1",
      paramLabel = "PORT[/PROTOCOL]",
      description = "Port inside the container; the protocol is tcp unless given")
  private @Nullable String port;

  public PortCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json all = client.get(Target.parse(name).path() + "/ports");
    if (port == null) {
      show(all, () -> lines(all.items(), true));
      return 0;
    }
    String wanted = port.contains("/") ? port : port + "/tcp";
    List<Json> found = all.items().stream().filter(one -> inside(one).equals(wanted)).toList();
    if (found.isEmpty()) {
      throw new AgentException.NotFound(
          "published port " + wanted + " of container '" + name + "'",
          "'zlayer port " + name + "' lists those there are");
    }
    show(Json.of(found), () -> lines(found, false));
    return 0;
  }

  private static String lines(List<Json> ports, boolean whole) {
    var text = new StringBuilder();
    for (Json port : ports) {
      String address = text(port, "host_ip");
      text.append(whole ? inside(port) + " -> " : "")
          .append(address.contains(":") ? "[" + address + "]" : address)
          .append(':')
          .append(number(port, "host_port"))
          .append('\n');
    }
    return text.toString();
  }

  private static String inside(Json port) {
    return number(port, "container_port") + "/" + text(port, "protocol");
  }
}
