package dev.zlayer.runtime.cni;

import dev.zlayer.error.AgentException;
import dev.zlayer.port.DeploymentNames;
import dev.zlayer.port.DeploymentNetworks;
import java.net.InetAddress;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * One bridge per deployment, with a range of addresses that nothing else on the machine uses and a
 * name server at the machine's own address in it. The networks remember both, so a deployment keeps
 * them until it is removed.
 */
public final class DeploymentBridges implements DeploymentNetworks {
  /** Networks that files name themselves do not begin so. */
  static final String PREFIX = "d_";

  private final Networks networks;
  private final DeploymentNames names;
  private volatile Ranges ranges = _ -> Optional.empty();

  /** Where the addresses of deployments are that run on several nodes. */
  @FunctionalInterface
  public interface Ranges {
    /**
     * Empty for a deployment of this node alone.
     *
     * @throws AgentException.Unavailable it is not known yet
     */
    Optional<Subnet> of(String deployment);
  }

  public DeploymentBridges(Networks networks, DeploymentNames names) {
    this.networks = networks;
    this.names = names;
  }

  /** Whether a network is that of a deployment. */
  public static boolean owns(String network) {
    return network.startsWith(PREFIX);
  }

  /** New networks get their addresses from there; those that exist keep theirs. */
  public void use(Ranges ranges) {
    this.ranges = ranges;
  }

  /** The network of a deployment, if it has one yet. */
  public Optional<NamedNetwork> find(String deployment) {
    String name = name(deployment);
    return networks.networks().stream().filter(network -> network.name().equals(name)).findFirst();
  }

  /** Begins the names of bridges, and is the name of the tables of nftables. */
  public String prefix() {
    return networks.config.prefix();
  }

  @Override
  public Network make(String deployment) throws InterruptedException {
    Optional<NamedNetwork> known = find(deployment);
    NamedNetwork network =
        networks.network(
            name(deployment),
            NetworkOptions.NONE,
            known.isPresent() ? Optional.empty() : ranges.of(deployment));
    InetAddress gateway = network.gateway();
    names.open(deployment, network.range());
    return new Network(
        Optional.of(network.name()),
        List.of(gateway),
        List.of(deployment.toLowerCase(Locale.ROOT) + "." + DeploymentNames.DOMAIN));
  }

  @Override
  public void remove(String deployment) throws InterruptedException {
    try {
      networks.removeNetwork(name(deployment));
    } catch (AgentException.NotFound _) {
      // it was never used, or is gone already
    }
    names.close(deployment);
  }

  /** Networks have lower-case names; deployments that differ in case alone stay apart. */
  static String name(String deployment) {
    String lower = deployment.toLowerCase(Locale.ROOT);
    String mark =
        lower.equals(deployment) ? "" : "_" + HexFormat.of().toHexDigits(deployment.hashCode());
    int room = 64 - PREFIX.length() - mark.length();
    return PREFIX + (lower.length() > room ? lower.substring(0, room) : lower) + mark;
  }
}
