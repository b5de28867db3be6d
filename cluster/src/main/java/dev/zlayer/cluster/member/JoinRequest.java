package dev.zlayer.cluster.member;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What a new node sends to one of the cluster.
 *
 * @param key its public key, as PEM; the private one never leaves it
 * @param server whether it stores the state of the cluster; the cluster decides when absent
 */
public record JoinRequest(
    String token, String name, String address, String key, Optional<Boolean> server) {
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
   */
  public record Answer(
      String cluster,
      String id,
      boolean server,
      String certificate,
      String authority,
      Optional<String> authorityKey,
      List<String> endpoints,
      Map<String, String> members) {
    public Answer {
      endpoints = List.copyOf(endpoints);
      members = Map.copyOf(members);
    }

    /** Without the key, for messages. */
    @Override
    public String toString() {
      return "Answer[" + id + "]";
    }
  }
}
