package dev.zlayer.proxy;

import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * How the proxy is set up.
 *
 * @param stateDirectory what is forwarded where, so that the next agent starts with it; a reboot
 *     may take it
 * @param formerState the file that earlier versions kept instead
 * @param table name of the nftables table
 * @param bridged holds for addresses of containers on our bridges, which the kernel can forward to
 * @param publishers knows the containers that have published a port of this host
 * @param resolvConf names the servers that are asked for names that are not ours
 * @param nft the nftables program
 * @param toolLimit how long it may take
 */
public record ProxyConfig(
    Path stateDirectory,
    Path formerState,
    String table,
    Predicate<InetAddress> bridged,
    Publishers publishers,
    Path resolvConf,
    String nft,
    Duration toolLimit) {
  private static final String SUFFIX = "_endpoints";

  /** Ports of this host that containers have published, past the proxy. */
  @FunctionalInterface
  public interface Publishers {
    /** Who has published it; {@code protocol} is tcp or udp. */
    Optional<String> find(String protocol, int port);
  }

  public static ProxyConfig of(
      Path stateDirectory, Path formerState, Predicate<InetAddress> bridged) {
    return new ProxyConfig(
        stateDirectory,
        formerState,
        "zlayer" + SUFFIX,
        bridged,
        (_, _) -> Optional.empty(),
        Path.of("/etc/resolv.conf"),
        "nft",
        Duration.ofSeconds(20));
  }

  /** The table is named after the bridges. */
  public ProxyConfig withPrefix(String prefix) {
    return with(prefix + SUFFIX, publishers, resolvConf, nft);
  }

  public ProxyConfig withPublishers(Publishers publishers) {
    return with(table, publishers, resolvConf, nft);
  }

  public ProxyConfig withResolvConf(Path resolvConf) {
    return with(table, publishers, resolvConf, nft);
  }

  public ProxyConfig withNft(String nft) {
    return with(table, publishers, resolvConf, nft);
  }

  /** The table of earlier versions, which is replaced at the start. */
  String formerTable() {
    return bridges() + "_doors";
  }

  /** Begins the names of our bridges. */
  String bridges() {
    return table.substring(0, table.length() - SUFFIX.length());
  }

  private ProxyConfig with(String table, Publishers publishers, Path resolvConf, String nft) {
    return new ProxyConfig(
        stateDirectory, formerState, table, bridged, publishers, resolvConf, nft, toolLimit);
  }
}
