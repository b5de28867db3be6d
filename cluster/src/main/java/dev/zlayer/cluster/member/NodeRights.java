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
        reads(Keys.ALL),
        reads(Keys.EVENTS_ALL),
        writes(Keys.DESIRED),
        writes(Keys.FILES),
        writes(Keys.EXECUTIONS),
        writes(Keys.RESULTS),
        writes(Keys.NUMBERS),
        writes(Keys.DEPENDENCIES), // a new 'up' has what failed tried again
        writes(Keys.VOLUMES), // 'volume rm' ends what binds one to its node
        writes(Keys.CLAIMS),
        new Permission(Keys.SUBNET_TURN, false, true));
  }

  /** Of one node alone. */
  static List<Permission> own(String node) {
    return List.of(
        new Permission(Keys.alive(node), false, true),
        writes(Keys.ASSIGNMENTS + node + "/"), // it removes those that it has ended
        writes(Keys.REPORTS + node + "/"),
        writes(Keys.NETWORKS + node + "/"),
        new Permission(Keys.subnet(node), false, true),
        new Permission(Keys.linkKey(node), false, true),
        new Permission(Keys.RENEWALS + node, false, true));
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
