package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.cli.command.OptionHints;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
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
      description =
          "IPv4 network, e.g. 10.1.0.0/24, or with --ipv6 also an IPv6 one; may be repeated"
              + " (default: unused ones)")
  private List<String> subnets = List.of();

  @Option(
      names = "--ipv6",
      description = "Give its containers IPv6 addresses, too, from a unique local /64 or --subnet")
  private boolean ipv6;

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
    return typed.matches("(-d|--driver|-o|--opt)(=.*)?")
        ? Optional.of("'%s' is not supported: every network is a bridge".formatted(typed))
        : Optional.empty();
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    Optional<String> subnet = only("IPv4", subnets.stream().filter(text -> !text.contains(":")));
    Optional<String> subnetIpv6 = only("IPv6", subnets.stream().filter(text -> text.contains(":")));
    return forEach(
        names,
        name -> {
          client.post(
              "/networks",
              Query.NONE,
              Json.object()
                  .put("name", name)
                  .putIf("subnet", subnet)
                  .put("ipv6", ipv6)
                  .putIf("subnet_ipv6", subnetIpv6)
                  .putIf("gateway", Optional.ofNullable(gateway))
                  .putIf("ip_range", Optional.ofNullable(range))
                  .put("internal", internal)
                  .put("labels", labels)
                  .build());
          print(name);
        });
  }

  private static Optional<String> only(String kind, Stream<String> given) {
    List<String> all = given.toList();
    if (all.size() > 1) {
      throw new AgentException.InvalidSpec(
          "--subnet %s and %s: a network has one %s subnet"
              .formatted(all.getFirst(), all.get(1), kind));
    }
    return all.stream().findFirst();
  }
}
