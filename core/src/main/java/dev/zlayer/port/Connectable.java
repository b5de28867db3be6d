package dev.zlayer.port;

import dev.zlayer.container.ConnectionSpec;

/** A container, running or not, that can be put on further networks and taken off them. */
public interface Connectable {
  /** Connects it to one more network that exists. */
  void connect(String network, ConnectionSpec wanted) throws InterruptedException;

  /**
   * Takes it off a network, also off the one that it was created on.
   *
   * @throws dev.zlayer.error.AgentException.NotFound it is not on it
   */
  void disconnect(String network) throws InterruptedException;
}
