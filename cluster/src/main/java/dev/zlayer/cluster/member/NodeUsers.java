package dev.zlayer.cluster.member;

import dev.zlayer.cluster.certificate.DerivedKeys;
import dev.zlayer.cluster.etcd.EtcdClient;
import dev.zlayer.cluster.etcd.EtcdConfig.Login;
import dev.zlayer.cluster.etcd.EtcdUsers;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.task.Deadline;
import java.security.PrivateKey;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The users of etcd: root, for the nodes that store the state, and one for each certificate of any
 * other node. Their passwords follow from the key of the authority, so nothing has to be given to
 * nodes that store the state, nor kept anywhere; a node gets its own with the certificate. Works on
 * nodes with that key alone.
 */
final class NodeUsers {
  /** In a cluster without users, or on an etcd that others run. */
  static final NodeUsers NONE = new NodeUsers(Optional.empty());

  private static final String PURPOSE = "zlayer etcd user 1: ";

  private record Etcd(EtcdUsers users, String cluster, PrivateKey authority) {
    Login login(String user) {
      return NodeUsers.login(cluster, authority, user);
    }
  }

  private final Optional<Etcd> etcd;

  private NodeUsers(Optional<Etcd> etcd) {
    this.etcd = etcd;
  }

  /** Those of a cluster; the client has to log in as {@link #root}. */
  static NodeUsers of(EtcdClient client, String cluster, PrivateKey authority) {
    return new NodeUsers(Optional.of(new Etcd(new EtcdUsers(client), cluster, authority)));
  }

  /** With which nodes log in that store the state. */
  static Login root(String cluster, PrivateKey authority) {
    return login(cluster, authority, EtcdUsers.ROOT);
  }

  private static Login login(String cluster, PrivateKey authority, String user) {
    byte[] key = DerivedKeys.derive(authority, cluster, PURPOSE + user, "HmacSHA256").getEncoded();
    return new Login(user, Base64.getUrlEncoder().withoutPadding().encodeToString(key));
  }

  /** Has etcd ask everybody for a user; does nothing when it does so already. */
  void begin(Deadline deadline) throws InterruptedException {
    if (etcd.isPresent()) {
      EtcdUsers users = etcd.get().users();
      users.begin(etcd.get().login(EtcdUsers.ROOT), deadline);
      users.role(NodeRights.SHARED, NodeRights.shared(), deadline);
    }
  }

  /** Lets a node in that has this certificate; its password is for that node alone. */
  Optional<String> admit(String node, String serial, Deadline deadline)
      throws InterruptedException {
    if (etcd.isEmpty()) {
      return Optional.empty();
    }
    EtcdUsers users = etcd.get().users();
    Login user = etcd.get().login(NodeRights.user(node, serial));
    users.role(NodeRights.role(node), NodeRights.own(node), deadline);
    users.user(user, List.of(NodeRights.SHARED, NodeRights.role(node)), deadline);
    return Optional.of(user.password());
  }

  /** Refuses a certificate of a node from now on. */
  void remove(String node, String serial, Deadline deadline) throws InterruptedException {
    if (etcd.isPresent()) {
      etcd.get().users().removeUser(NodeRights.user(node, serial), deadline);
    }
  }

  /** Refuses a node from now on, with whatever certificate. */
  void removeAll(String node, Deadline deadline) throws InterruptedException {
    if (etcd.isPresent()) {
      EtcdUsers users = etcd.get().users();
      for (String user : users.users(deadline)) {
        if (NodeRights.belongs(user, node)) {
          users.removeUser(user, deadline);
        }
      }
      users.removeRole(NodeRights.role(node), deadline);
    }
  }

  /**
   * Removes users without a certificate, as one leaves behind who is killed while it signs one for
   * a node that is removed. A certificate is stored before its user is made.
   */
  void sweep(ClusterStore store, Deadline deadline) throws InterruptedException {
    if (etcd.isPresent()) {
      EtcdUsers users = etcd.get().users();
      List<String> known = users.users(deadline);
      Set<String> issued =
          store.list(StoreKeys.CERTIFICATES, deadline).entries().stream()
              .map(entry -> entry.key().substring(StoreKeys.CERTIFICATES.length()).split("/"))
              .filter(parts -> parts.length == 2)
              .map(parts -> NodeRights.user(parts[0], parts[1]))
              .collect(Collectors.toSet());
      for (String user : known) {
        if (NodeRights.isNode(user) && !issued.contains(user)) {
          users.removeUser(user, deadline);
        }
      }
    }
  }
}
