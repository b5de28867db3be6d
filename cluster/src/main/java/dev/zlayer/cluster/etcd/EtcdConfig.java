package dev.zlayer.cluster.etcd;

import java.net.URI;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.SSLContext;

/**
 * How members are reached.
 *
 * @param endpoints their addresses for clients; the first that answers is kept
 * @param tls our certificate, and whose certificates members must have
 * @param login for members that ask for a user
 */
public record EtcdConfig(List<URI> endpoints, Optional<SSLContext> tls, Optional<Login> login) {
  /** A user of etcd. */
  public record Login(String user, String password) {
    /** The password stays out of messages. */
    @Override
    public String toString() {
      return user;
    }
  }

  public EtcdConfig {
    endpoints = List.copyOf(endpoints);
    if (endpoints.isEmpty()) {
      throw new IllegalArgumentException("no endpoint");
    }
  }
}
