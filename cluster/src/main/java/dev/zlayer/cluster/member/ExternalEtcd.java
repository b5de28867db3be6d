package dev.zlayer.cluster.member;

import dev.zlayer.cluster.etcd.EtcdConfig;
import dev.zlayer.error.AgentException;
import java.net.URI;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * An etcd that others run, which keeps the state of the cluster. Every node reaches it in the same
 * way; a node that joins gets this with its certificate.
 *
 * @param endpoints where clients reach it
 * @param prefix of all keys of this cluster, so that several can share one etcd
 * @param authority whose certificates it has, as PEM; those that the system trusts when absent
 * @param certificate that nodes show to it, as PEM
 * @param key of that certificate
 */
public record ExternalEtcd(
    List<String> endpoints,
    String prefix,
    Optional<String> authority,
    Optional<String> certificate,
    Optional<String> key,
    Optional<String> user,
    Optional<String> password) {
  /**
   * Keys of a cluster begin with /zlayer behind the prefix: no prefix may lie within those of
   * another one.
   */
  private static final Pattern PREFIX = Pattern.compile("(/(?!zlayer)[A-Za-z0-9._-]{1,64}){0,8}");

  public ExternalEtcd {
    endpoints = List.copyOf(endpoints);
  }

  /** Refuses what cannot work, before anything is done. */
  void check() {
    if (endpoints.isEmpty()) {
      throw new AgentException.InvalidSpec(
          "no address of etcd is given; write them as https://192.0.2.1:2379");
    }
    endpoints.forEach(ExternalEtcd::check);
    if (!PREFIX.matcher(prefix).matches()) {
      throw new AgentException.InvalidSpec(
          ("'%s' is not a prefix of keys; write one like /team-a, of letters, digits, dots, hyphens"
                  + " and underscores between slashes, where no part begins with 'zlayer'")
              .formatted(prefix));
    }
    if (certificate.isPresent() != key.isPresent()) {
      throw new AgentException.InvalidSpec(
          "a certificate for etcd needs its key and the other way round; give both or neither");
    }
    if (user.isPresent() != password.isPresent()) {
      throw new AgentException.InvalidSpec(
          "a user of etcd needs a password and the other way round; give both or neither");
    }
  }

  private static void check(String endpoint) {
    try {
      URI address = URI.create(endpoint);
      boolean plain = "http".equals(address.getScheme());
      if (plain) {
        throw new AgentException.InvalidSpec(
            ("etcd at '%s' is refused: without TLS everybody on the way could change the cluster;"
                    + " serve it with TLS and write https://")
                .formatted(endpoint));
      }
      if ("https".equals(address.getScheme())
          && address.getHost() != null
          && address.getUserInfo() == null
          && (address.getPath() == null || address.getPath().replace("/", "").isEmpty())
          && address.getQuery() == null) {
        return;
      }
    } catch (IllegalArgumentException _) {
      // said below
    }
    throw new AgentException.InvalidSpec(
        "'%s' is not an address of etcd; write one like https://192.0.2.1:2379"
            .formatted(endpoint));
  }

  List<URI> uris() {
    return endpoints.stream().map(URI::create).toList();
  }

  Optional<EtcdConfig.Login> login() {
    return user.map(name -> new EtcdConfig.Login(name, password.orElse("")));
  }

  AgentException taken() {
    return new AgentException.Conflict(
        ("this etcd already keeps another zlayer cluster%s; choose another --etcd-prefix, or join"
                + " that cluster with 'zlayer cluster join'. When none of its nodes exists any"
                + " more, remove its keys: etcdctl del --prefix %s/zlayer/, and the same with"
                + " %s/zlayer-")
            .formatted(prefix.isEmpty() ? "" : " with the prefix " + prefix, prefix, prefix));
  }

  /** Without secrets, for messages. */
  @Override
  public String toString() {
    return "ExternalEtcd" + endpoints;
  }
}
