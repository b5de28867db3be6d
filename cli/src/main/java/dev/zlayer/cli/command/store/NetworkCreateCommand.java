package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.cli.command.OptionHints;
import dev.zlayer.json.Json;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "create",
    description = "Create networks",
    footer = {
      "",
      "A network is also created by its first use, for example 'zlayer run --network NAME'.",
      "Its bridge is assigned, and an unused range of addresses unless --subnet is given."
    })
public final class NetworkCreateCommand extends ClientCommand implements OptionHints {
  @Option(
      names = "--subnet",
      paramLabel = "CIDR",
      description = "IPv4 network, e.g. 10.1.0.0/24 (default: an unused one)")
  private @Nullable String subnet;

  @Option(
      names = "--gateway",
      paramLabel = "ADDRESS",
      description = "Address of this host in the subnet (default: the first one)")
  private @Nullable String gateway;

  @Option(
      names = "--ip-range",
      paramLabel = "CIDR",
      description = "Part of the subnet that addresses are given from (default: all of it)")
  private @Nullable String range;

  @Option(names = "--internal", description = "Give its containers no way out")
  private boolean internal;

  @Option(names = "--label", paramLabel = "KEY=VALUE", description = "Label; may be repeated")
  private Map<String, String> labels = Map.of();

  @Parameters(paramLabel = "NAME", arity = "1..*", description = "Names")
  private List<String> names = List.of();

  public NetworkCreateCommand(Session session) {
    super(session);
  }

  @Override
  public Optional<String> advice(String typed) {
    return typed.matches("(-d|--driver|--ipv6|-o|--opt)(=.*)?")
        ? Optional.of("'%s' is not supported: every network is a bridge".formatted(typed))
        : Optional.empty();
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    return forEach(
        names,
        name -> {
          client.post(
              "/networks",
              Query.NONE,
              Json.object()
                  .put("name", name)
                  .putIf("subnet", Optional.ofNullable(subnet))
                  .putIf("gateway", Optional.ofNullable(gateway))
                  .putIf("ip_range", Optional.ofNullable(range))
                  .put("internal", internal)
                  .put("labels", labels)
                  .build());
          print(name);
        });
  }
}
