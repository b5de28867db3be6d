package dev.zlayer.cluster.member;

import dev.zlayer.cluster.certificate.Authority;
import dev.zlayer.cluster.certificate.Pem;
import dev.zlayer.cluster.etcd.EtcdServer;
import dev.zlayer.cluster.network.WireGuard;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.URI;
import java.security.KeyPair;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * How a node comes into a cluster: it begins one, or is admitted to one. And out of one that it
 * cannot use.
 */
public final class Joining {
  private static final Pattern NAME = Pattern.compile("[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?");
  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final int ID_BYTES = 5;

  /** Connecting a datagram socket there sends nothing; it is reserved for documents. */
  private static final String ELSEWHERE = "192.0.2.1";

  private Joining() {}

  /**
   * Makes this node the first one of a new cluster.
   *
   * @param advertise the address under which other nodes reach it; that of the default route when
   *     absent
   * @param external an etcd that others run, to be used instead of one on nodes
   * @param encrypt whether packets between containers of different nodes are encrypted
   */
  public static Cluster init(
      Cluster.Host host,
      String name,
      Optional<String> advertise,
      Optional<ExternalEtcd> external,
      boolean encrypt)
      throws InterruptedException {
    ClusterFiles files = fresh(host, name);
    if (encrypt) {
      WireGuard.obstacle()
          .ifPresent(
              reason -> {
                throw new AgentException.Configuration(reason);
              });
    }
    if (external.isPresent()) {
      keep(external.get(), files);
    } else {
      requireEtcd(host);
    }
    InetAddress address = own(advertise);
    Instant now = host.clock().instant();
    String cluster = newId();
    String id = newId();
    Authority authority = Authority.create(cluster, now);
    KeyPair keys = Authority.keys();
    var identity =
        new NodeIdentity(
            NodeIdentity.VERSION,
            cluster,
            id,
            name,
            address.getHostAddress(),
            true,
            external
                .map(ExternalEtcd::endpoints)
                .orElseGet(() -> List.of(NodeIdentity.client(address.getHostAddress()).toString())),
            Map.of(id, NodeIdentity.peer(address.getHostAddress()).toString()),
            false);
    files.write(
        keys.getPrivate(),
        authority.issue(keys.getPublic(), NodeIdentity.names(id, true), List.of(address), now),
        authority.certificate());
    files.write(authority.key());
    var settings = new ClusterSettings(cluster, encrypt, Optional.of(external.isEmpty()));
    files.write(settings);
    files.write(identity);
    var record = new NodeRecord(id, name, identity.address(), true, now, Map.of());
    return Cluster.begin(host, files, identity, record, settings);
  }

  /** Only one that can be used is. */
  private static void keep(ExternalEtcd external, ClusterFiles files) throws InterruptedException {
    external.check();
    try {
      files.write(external);
      Backend.probe(external, files);
    } catch (AgentException | InterruptedException e) {
      files.remove();
      throw e;
    }
  }

  /**
   * Joins a cluster through one of its nodes.
   *
   * @param agent address of that node, with a port if it is not the usual one
   * @param server whether this node stores the state; the cluster decides when absent
   */
  public static Cluster join(
      Cluster.Host host,
      String name,
      String agent,
      String token,
      Optional<String> advertise,
      Optional<Boolean> server)
      throws InterruptedException {
    ClusterFiles files = fresh(host, name);
    JoinToken shown = JoinToken.parse(token);
    InetAddress address = own(advertise);
    KeyPair keys = Authority.keys();
    var request =
        new JoinRequest(
            shown.text(),
            name,
            address.getHostAddress(),
            Pem.of(keys.getPublic()),
            server,
            missing(host));
    JoinRequest.Answer answer = JoinClient.ask(agent(agent), shown, request, Deadline.after(LIMIT));
    X509Certificate authority = Pem.certificate(answer.authority());
    if (!JoinToken.equal(Pem.fingerprint(authority), shown.authority())) {
      throw new AgentException.Conflict("the answer is not of the cluster that the token is for");
    }
    X509Certificate certificate = Pem.certificate(answer.certificate());
    answer.password().ifPresent(password -> files.writePassword(certificate, password));
    files.write(keys.getPrivate(), certificate, authority);
    answer.external().ifPresent(files::write);
    files.write(
        new ClusterSettings(answer.cluster(), answer.encrypt().orElse(false), answer.users()));
    answer.authorityKey().ifPresent(key -> files.write(Pem.privateKey(key)));
    var identity =
        new NodeIdentity(
            NodeIdentity.VERSION,
            answer.cluster(),
            answer.id(),
            name,
            address.getHostAddress(),
            answer.server(),
            answer.endpoints(),
            answer.members(),
            true);
    files.write(identity);
    return Cluster.enter(host, files, identity);
  }

  private static ClusterFiles fresh(Cluster.Host host, String name) {
    if (ClusterFiles.present(host.directory())) {
      throw new AgentException.Conflict(
          "this node is in a cluster already; leave it with 'zlayer cluster leave'");
    }
    checkName(name);
    return new ClusterFiles(host.directory());
  }

  private static Map<String, String> missing(Cluster.Host host) throws InterruptedException {
    var missing = new HashMap<String, String>();
    EtcdServer.obstacle(host.etcd()).ifPresent(reason -> missing.put(JoinRequest.ETCD, reason));
    WireGuard.obstacle().ifPresent(reason -> missing.put(JoinRequest.WIREGUARD, reason));
    return missing;
  }

  private static void requireEtcd(Cluster.Host host) {
    EtcdServer.obstacle(host.etcd())
        .ifPresent(
            reason -> {
              throw new AgentException.Configuration(reason);
            });
  }

  static void checkName(String name) {
    if (!NAME.matcher(name).matches()) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a name for a node; use lower case letters, digits, dots and hyphens"
              .formatted(name));
    }
  }

  static void checkFree(List<NodeRecord> nodes, String name, String address) {
    checkName(name);
    for (NodeRecord node : nodes) {
      if (node.name().equals(name)) {
        throw new AgentException.Conflict(
            "there is a node '%s' already; choose another name with --name".formatted(name));
      }
      if (node.address().equals(address)) {
        throw new AgentException.Conflict(
            "node '%s' has the address %s already; remove it with 'zlayer node rm'"
                .formatted(node.name(), address));
      }
    }
  }

  static String newId() {
    byte[] id = new byte[ID_BYTES];
    new SecureRandom().nextBytes(id);
    return HexFormat.of().formatHex(id);
  }

  static InetAddress address(String text) {
    try {
      return InetAddress.ofLiteral(text);
    } catch (IllegalArgumentException e) {
      throw new AgentException.InvalidSpec(
          "'%s' is not an IP address; names may change, so nodes are known by addresses"
              .formatted(text),
          e);
    }
  }

  private static InetAddress own(Optional<String> advertise) {
    InetAddress address = advertise.isPresent() ? address(advertise.get()) : outward();
    try {
      if (NetworkInterface.getByInetAddress(address) == null) {
        throw new AgentException.InvalidSpec(
            "%s is not an address of this machine".formatted(address.getHostAddress()));
      }
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot read the addresses of this machine: " + e.getMessage(), e);
    }
    return address;
  }

  private static InetAddress outward() {
    try (var socket = new DatagramSocket()) {
      socket.connect(InetAddress.ofLiteral(ELSEWHERE), 9);
      InetAddress found = socket.getLocalAddress();
      if (!found.isAnyLocalAddress() && !found.isLoopbackAddress()) {
        return found;
      }
    } catch (IOException | java.io.UncheckedIOException _) {
      // there is no route: the operator has to say
    }
    throw new AgentException.InvalidSpec(
        "this machine has no default route; say with --advertise under which address other nodes"
            + " reach it");
  }

  private static URI agent(String text) {
    boolean port = text.matches(".*\\]:\\d+|[^:\\[]+:\\d+");
    try {
      URI found =
          port
              ? URI.create("https://" + text)
              : NodeIdentity.url(text.replaceAll("[\\[\\]]", ""), NodeIdentity.AGENT_PORT);
      if (found.getHost() != null) {
        return found;
      }
    } catch (IllegalArgumentException _) {
      // said below
    }
    throw new AgentException.InvalidSpec(
        "'%s' is not an address; write that of a node, as 192.0.2.1 or 192.0.2.1:2377"
            .formatted(text));
  }

  /** Removes what a node has of a cluster although it cannot be read; nobody else is told. */
  public static void abandon(Cluster.Host host) throws InterruptedException {
    var files = new ClusterFiles(host.directory());
    String here = InetAddress.getLoopbackAddress().getHostAddress();
    var nobody =
        new NodeIdentity(NodeIdentity.VERSION, "", "", "", here, true, List.of(), Map.of(), false);
    // a process is found by its directory alone
    Servers.process(host, files, nobody).stop(Deadline.after(LIMIT));
    files.remove();
  }
}
