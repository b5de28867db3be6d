package dev.zlayer.runtime.cni;

import dev.zlayer.error.AgentException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.regex.Pattern;

/**
 * How the networks of this agent are set up.
 *
 * @param runDirectory namespaces, attachments and given addresses: what a reboot ends
 * @param stateDirectory the named networks, which a reboot does not end
 * @param pluginDirectories where CNI plugins are looked for, in this order
 * @param prefix starts the name of every bridge and is the name of the nftables table
 * @param subnets the range from which every network gets its own part
 * @param ipv6 whether networks that nobody created with options get IPv6 addresses, too
 * @param poolSize how many namespaces on the default network are kept ready; 0 turns that off
 * @param poolLull how long nobody may want one until a pool that has grown is cut back
 * @param pluginTimeout how long one plugin may take
 * @param firewall also run the CNI plugin {@code firewall}, for hosts that drop forwarded packets
 * @param forwardDrop drop what goes past containers when forwarding had to be switched on for them
 * @param nft the nftables program
 */
public record NetworkConfig(
    Path runDirectory,
    Path stateDirectory,
    List<Path> pluginDirectories,
    String prefix,
    Subnet subnets,
    boolean ipv6,
    int poolSize,
    Duration poolLull,
    Duration pluginTimeout,
    boolean firewall,
    boolean forwardDrop,
    String nft) {
  /** Interface names have 15 characters, and up to four digits follow the prefix. */
  private static final Pattern PREFIX = Pattern.compile("[a-z]([a-z0-9]{0,9}[a-z])?");

  public NetworkConfig {
    pluginDirectories = List.copyOf(pluginDirectories);
    runDirectory = runDirectory.toAbsolutePath();
    stateDirectory = stateDirectory.toAbsolutePath();
    if (!PREFIX.matcher(prefix).matches()) {
      throw new AgentException.Configuration(
          "network prefix '%s' must have 1 to 11 letters and digits and end with a letter"
              .formatted(prefix));
    }
    if (subnets.prefixLength() > Subnet.DEFAULT_NETWORK) {
      throw new AgentException.Configuration(
          "network range %s is too small: give at least a /%d"
              .formatted(subnets, Subnet.DEFAULT_NETWORK));
    }
  }

  public static NetworkConfig of(Path runDirectory, Path stateDirectory) {
    return new NetworkConfig(
        runDirectory,
        stateDirectory,
        List.of(Path.of("/opt/cni/bin"), Path.of("/usr/lib/cni"), Path.of("/usr/libexec/cni")),
        "zlayer",
        Subnet.parse("10.89.0.0/16"),
        false,
        4,
        Duration.ofSeconds(30),
        Duration.ofSeconds(20),
        false,
        true,
        "nft");
  }

  public NetworkConfig withPluginDirectories(Path... directories) {
    return with(next -> next.pluginDirectories = List.of(directories));
  }

  public NetworkConfig withPrefix(String prefix, Subnet subnets) {
    return with(
        next -> {
          next.prefix = prefix;
          next.subnets = subnets;
        });
  }

  public NetworkConfig withIpv6(boolean ipv6) {
    return with(next -> next.ipv6 = ipv6);
  }

  public NetworkConfig withPoolSize(int poolSize) {
    return with(next -> next.poolSize = poolSize);
  }

  public NetworkConfig withPoolLull(Duration poolLull) {
    return with(next -> next.poolLull = poolLull);
  }

  public NetworkConfig withPluginTimeout(Duration pluginTimeout) {
    return with(next -> next.pluginTimeout = pluginTimeout);
  }

  public NetworkConfig withFirewall(boolean firewall) {
    return with(next -> next.firewall = firewall);
  }

  public NetworkConfig withForwardDrop(boolean forwardDrop) {
    return with(next -> next.forwardDrop = forwardDrop);
  }

  Path namespaces() {
    return runDirectory.resolve("netns");
  }

  Path attachments() {
    return runDirectory.resolve("attachments");
  }

  Path addresses() {
    return runDirectory.resolve("addresses");
  }

  private NetworkConfig with(Consumer<Next> change) {
    var next = new Next();
    change.accept(next);
    return new NetworkConfig(
        runDirectory,
        stateDirectory,
        next.pluginDirectories,
        next.prefix,
        next.subnets,
        next.ipv6,
        next.poolSize,
        next.poolLull,
        next.pluginTimeout,
        next.firewall,
        next.forwardDrop,
        nft);
  }

  /** What can be chosen otherwise, as it is before the choice. */
  private final class Next {
    List<Path> pluginDirectories = pluginDirectories();
    String prefix = prefix();
    Subnet subnets = subnets();
    boolean ipv6 = ipv6();
    int poolSize = poolSize();
    Duration poolLull = poolLull();
    Duration pluginTimeout = pluginTimeout();
    boolean firewall = firewall();
    boolean forwardDrop = forwardDrop();
  }
}
