package dev.zlayer.proxy;

import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.Predicate;

/**
 * How the proxy is set up.
 *
 * @param stateFile what leads where, so that the next agent begins with it; a reboot may take it
 * @param table name of the nftables table
 * @param bridged tells the addresses of containers on bridges of ours, which the kernel can lead to
 * @param resolvConf names the servers that are asked for what is not ours
 * @param nft the nftables program
 * @param toolLimit how long it may take
 */
public record ProxyConfig(
    Path stateFile,
    String table,
    Predicate<InetAddress> bridged,
    Path resolvConf,
    String nft,
    Duration toolLimit) {
  public static ProxyConfig of(Path stateFile, Predicate<InetAddress> bridged) {
    return new ProxyConfig(
        stateFile,
        "zlayer_doors",
        bridged,
        Path.of("/etc/resolv.conf"),
        "nft",
        Duration.ofSeconds(20));
  }

  public ProxyConfig withTable(String table) {
    return new ProxyConfig(stateFile, table, bridged, resolvConf, nft, toolLimit);
  }

  public ProxyConfig withResolvConf(Path resolvConf) {
    return new ProxyConfig(stateFile, table, bridged, resolvConf, nft, toolLimit);
  }
}
