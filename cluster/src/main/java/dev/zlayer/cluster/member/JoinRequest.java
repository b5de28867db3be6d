package dev.zlayer.cluster.member;

import dev.zlayer.error.AgentException;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What a new node sends to one of the cluster.
 *
 * @param key its public key, as PEM; the private one never leaves it
 * @param server whether it stores the state of the cluster; the cluster decides when absent
 * @param missing why it cannot do what only some clusters ask for, by what that is
 */
public record JoinRequest(
    String token,
    String name,
    String address,
    String key,
    Optional<Boolean> server,
    Map<String, String> missing) {
  static final String ETCD = "etcd";
  static final String WIREGUARD = "wireguard";

  public JoinRequest {
    missing = Map.copyOf(missing);
  }

  /** Throws when the node has not got what its cluster asks for. */
  void lacks(String what) {
    String reason = missing.get(what);
    if (reason != null) {
      throw new AgentException.Conflict(reason);
    }
  }

  /** Without the token, for messages. */
  @Override
  public String toString() {
    return "%s at %s".formatted(name, address);
  }

  /**
   * What it gets back.
   *
   * @param certificate signed, as PEM
   * @param authority the certificate of the authority
   * @param authorityKey for a node that stores the state, which can admit others then
   * @param endpoints of etcd
   * @param members of etcd, by name, for a node that stores the state
   * @param external the etcd that others run, where it keeps the state
   * @param encrypt whether packets between containers of different nodes are encrypted
   * @param users whether etcd knows nodes as users
   * @param password of the user that belongs to the certificate, where etcd has users; a node that
   *     stores the state needs none
   */
  public record Answer(
      String cluster,
      String id,
      boolean server,
      String certificate,
      String authority,
      Optional<String> authorityKey,
      List<String> endpoints,
      Map<String, String> members,
      Optional<ExternalEtcd> external,
      Optional<Boolean> encrypt,
      Optional<Boolean> users,
      Optional<String> password) {
    public Answer {
      endpoints = List.copyOf(endpoints);
      members = Map.copyOf(members);
    }

    /** Without secrets, for messages. */
    @Override
    public String toString() {
      return "Answer[" + id + "]";
    }
  }
}
