package dev.zlayer.runtime.cni;

import dev.zlayer.container.NetworkSpec.Protocol;
import java.net.InetAddress;

/** Why a port could not be published: somebody has it. */
@SuppressWarnings("serial")
public final class PortTaken extends Exception {
  private final InetAddress ip;
  private final int port;
  private final Protocol protocol;
  private final boolean published;

  PortTaken(InetAddress ip, int port, Protocol protocol, boolean published) {
    super("%s:%d is taken".formatted(ip.getHostAddress(), port));
    this.ip = ip;
    this.port = port;
    this.protocol = protocol;
    this.published = published;
  }

  public InetAddress ip() {
    return ip;
  }

  public int port() {
    return port;
  }

  public Protocol protocol() {
    return protocol;
  }

  /** Whether another container has it, and not a program of the host. */
  public boolean published() {
    return published;
  }
}
