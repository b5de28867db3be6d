package dev.zlayer.port;

import java.net.InetAddress;
import java.util.List;
import java.util.Optional;

/** A container, running or not, that can be put on further networks and taken off them. */
public interface Connectable {
  /**
   * Connects it to one more network that exists.
   *
   * @param aliases further names of the container there
   * @param address a fixed address, else a free one
   */
  void connect(String network, List<String> aliases, Optional<InetAddress> address)
      throws InterruptedException;

  /**
   * Takes it off a network, also off the one that it was created on.
   *
   * @throws dev.zlayer.error.AgentException.NotFound it is not on it
   */
  void disconnect(String network) throws InterruptedException;
}
