package dev.zlayer.cluster.member;

import dev.zlayer.cluster.etcd.EtcdUsers.Permission;
import java.util.List;

/**
 * What a node that does not store the state may read and write of it. Nodes that store it may do
 * everything: they could replace it.
 *
 * <p>A node writes what it says about itself, and what requests change that somebody makes on it:
 * deployments and executions. What the cluster decides about nodes is written by those that store
 * the state alone: who belongs to it, with which certificates, and what others run.
 */
final class NodeRights {
  /** The role that all these nodes have. */
  static final String SHARED = "nodes";

  private static final String PREFIX = "node-";

  private NodeRights() {}

  /** The same for all of them. */
  static List<Permission> shared() {
    return List.of(
        reads(StoreKeys.ALL),
        reads(StoreKeys.EVENTS_ALL),
        writes(StoreKeys.DESIRED),
        writes(StoreKeys.FILES),
        writes(StoreKeys.EXECUTIONS),
        writes(StoreKeys.RESULTS),
        writes(StoreKeys.NUMBERS),
        writes(StoreKeys.DEPENDENCIES), // a new 'up' has what failed tried again
        writes(StoreKeys.VOLUMES), // 'volume rm' ends what binds one to its node
        writes(StoreKeys.CLAIMS),
        new Permission(StoreKeys.SUBNET_TURN, false, true));
  }

  /** Of one node alone. */
  static List<Permission> own(String node) {
    return List.of(
        new Permission(StoreKeys.alive(node), false, true),
        writes(StoreKeys.ASSIGNMENTS + node + "/"), // it removes those that it has ended
        writes(StoreKeys.REPORTS + node + "/"),
        writes(StoreKeys.NETWORKS + node + "/"),
        new Permission(StoreKeys.subnet(node), false, true),
        new Permission(StoreKeys.linkKey(node), false, true),
        new Permission(StoreKeys.RENEWALS + node, false, true));
  }

  private static Permission reads(String prefix) {
    return new Permission(prefix, true, false);
  }

  private static Permission writes(String prefix) {
    return new Permission(prefix, true, true);
  }

  /** The role of one node. */
  static String role(String node) {
    return PREFIX + node;
  }

  /** The user that belongs to a certificate: another certificate is another user. */
  static String user(String node, String serial) {
    return PREFIX + node + "-" + serial;
  }

  /** Whether this is a user of the node, with whatever certificate. */
  static boolean belongs(String user, String node) {
    return user.startsWith(PREFIX + node + "-");
  }

  /** Whether this is the user of any node. */
  static boolean isNode(String user) {
    return user.startsWith(PREFIX);
  }
}
