package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.cli.command.OptionHints;
import dev.zlayer.json.Json;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "create",
    description = "Create networks",
    footer = {
      "",
      "A network is also created by its first use, for example 'zlayer run --network NAME'.",
      "Its bridge and its range of addresses are assigned."
    })
public final class NetworkCreateCommand extends ClientCommand implements OptionHints {
  @Parameters(paramLabel = "NAME", arity = "1..*", description = "Names")
  private List<String> names = List.of();

  public NetworkCreateCommand(Session session) {
    super(session);
  }

  @Override
  public Optional<String> advice(String typed) {
    return typed.matches(
            "(-d|--driver|--subnet|--gateway|--ip-range|--ipv6|--label|-o|--opt)(=.*)?")
        ? Optional.of(
            "'%s' is not supported: every network is a bridge whose range is assigned"
                .formatted(typed))
        : Optional.empty();
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    return forEach(
        names,
        name -> {
          client.post("/networks", Query.NONE, Json.object().put("name", name).build());
          print(name);
        });
  }
}
