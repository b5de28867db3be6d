package dev.zlayer.cluster.member;

import java.net.InetAddress;
import java.net.URI;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What a node keeps about itself in a cluster.
 *
 * @param version of this record
 * @param cluster made when the cluster began
 * @param id never used again for another node
 * @param name unique among the nodes
 * @param address under which other nodes reach it
 * @param server whether it stores the state of the cluster
 * @param endpoints where members of etcd were reached last
 * @param members addresses of the members of etcd by name, as of the first start of this one
 * @param joins whether etcd existed before this node
 */
public record NodeIdentity(
    int version,
    String cluster,
    String id,
    String name,
    String address,
    boolean server,
    List<String> endpoints,
    Map<String, String> members,
    boolean joins) {
  static final int VERSION = 1;
  static final int CLIENT_PORT = 2379;
  static final int PEER_PORT = 2380;

  /** Where agents of other nodes reach this one. */
  public static final int AGENT_PORT = 2377;

  private static final String DOMAIN = ".zlayer.internal";

  /** The name that every certificate of a node which stores the state has. */
  static final String SERVERS = "server" + DOMAIN;

  public NodeIdentity {
    endpoints = List.copyOf(endpoints);
    members = Map.copyOf(members);
  }

  InetAddress inetAddress() {
    return InetAddress.ofLiteral(address);
  }

  URI client() {
    return client(address);
  }

  URI peer() {
    return peer(address);
  }

  static URI client(String address) {
    return url(address, CLIENT_PORT);
  }

  static URI peer(String address) {
    return url(address, PEER_PORT);
  }

  static URI url(String address, int port) {
    return URI.create(
        "https://%s:%d".formatted(address.contains(":") ? "[" + address + "]" : address, port));
  }

  /** Names of its certificate. */
  static List<String> names(String id, boolean server) {
    String own = id + ".node" + DOMAIN;
    return server ? List.of(own, SERVERS) : List.of(own);
  }

  /** By which a certificate is known in the store. */
  static String serial(X509Certificate certificate) {
    return certificate.getSerialNumber().toString(16);
  }

  /** The node that a certificate is for. */
  public static Optional<String> id(List<String> names) {
    return names.stream()
        .filter(name -> name.endsWith(".node" + DOMAIN))
        .map(name -> name.substring(0, name.indexOf('.')))
        .findFirst();
  }

  /** The same node, storing the state alone. */
  NodeIdentity alone() {
    return new NodeIdentity(
        version,
        cluster,
        id,
        name,
        address,
        true,
        List.of(client().toString()),
        Map.of(id, peer().toString()),
        false);
  }

  NodeIdentity withEndpoints(List<String> endpoints) {
    return new NodeIdentity(version, cluster, id, name, address, server, endpoints, members, joins);
  }
}
