package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.json.Json;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "connect",
    description = "Connect a container to one more network, also while it runs",
    footer = {
      "",
      "Examples:",
      "  zlayer network connect --alias db back web",
      "",
      "The container is found there by its name and its aliases."
    })
public final class NetworkConnectCommand extends NetworkMoveCommand {
  @Option(
      names = "--alias",
      paramLabel = "NAME",
      description = "Further name of the container on this network; may be repeated")
  private List<String> aliases = List.of();

  @Option(
      names = "--ip",
      paramLabel = "ADDRESS",
      description = "IPv4 address (default: a free one of the network)")
  private @Nullable String ip;

  public NetworkConnectCommand(Session session) {
    super(session, "/connect");
  }

  @Override
  Json body() {
    return Json.object().put("aliases", aliases).putIf("ip", Optional.ofNullable(ip)).build();
  }
}
