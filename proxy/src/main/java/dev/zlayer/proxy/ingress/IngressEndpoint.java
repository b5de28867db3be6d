package dev.zlayer.proxy.ingress;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.port.Rotation.Member;
import dev.zlayer.port.Rotation.Members;
import dev.zlayer.port.Rotation.Requests;
import dev.zlayer.port.Rotation.Served;
import dev.zlayer.proxy.tls.HostTls;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.network.RouteSpec;
import dev.zlayer.spec.network.TlsSpec;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * An endpoint that the ingress serves. Pure.
 *
 * @param port the port in the containers
 * @param stream whether it is given connections with TLS, whatever is spoken in them, instead of
 *     requests
 */
record IngressEndpoint(
    ServiceKey service,
    String name,
    int port,
    boolean stream,
    RouteSpec route,
    List<Server> servers) {
  private static final int FEWEST_SLOTS = 8;

  IngressEndpoint {
    servers = List.copyOf(servers);
  }

  /**
   * A replica in one of the numbered places of a backend, which it keeps as long as it runs: so
   * another replica changes nothing about it.
   */
  record Server(int slot, String container, InetAddress address, boolean ready, int weight) {
    Server unready() {
      return new Server(slot, container, address, false, weight);
    }
  }

  IngressEndpoint withServers(List<Server> others) {
    return new IngressEndpoint(service, name, port, stream, route, others);
  }

  /** The endpoints of a service that have a host or a path; {@code before} has their places. */
  static List<IngressEndpoint> of(Members service, List<IngressEndpoint> before) {
    var endpoints = new ArrayList<IngressEndpoint>();
    for (EndpointSpec spec : service.endpoints()) {
      if (spec.route().routed()) {
        List<Server> known =
            before.stream()
                .filter(one -> one.name.equals(spec.name()))
                .findFirst()
                .map(IngressEndpoint::servers)
                .orElse(List.of());
        List<Member> members =
            service.members().stream()
                .filter(
                    member ->
                        spec.targetRole().map(role -> role.equals(member.id().role())).orElse(true))
                .toList();
        endpoints.add(
            new IngressEndpoint(
                service.service(),
                spec.name(),
                spec.containerPort(),
                spec.protocol() == EndpointSpec.Protocol.TCP,
                spec.route(),
                placed(members, known)));
      }
    }
    return List.copyOf(endpoints);
  }

  private static List<Server> placed(List<Member> members, List<Server> before) {
    Map<String, Integer> slots = new HashMap<>();
    before.forEach(server -> slots.put(server.container(), server.slot()));
    List<String> names = members.stream().map(member -> member.id().runtimeName()).toList();
    slots.keySet().retainAll(names);
    var servers = new ArrayList<Server>();
    for (int i = 0; i < members.size(); i++) {
      Integer slot = slots.get(names.get(i));
      if (slot == null) {
        slot = 1;
        while (slots.containsValue(slot)) {
          slot++;
        }
        slots.put(names.get(i), slot);
      }
      Member member = members.get(i);
      servers.add(
          new Server(slot, names.get(i), member.address(), member.ready(), member.weight()));
    }
    return servers;
  }

  /** Unique, of the characters that names of HAProxy may have. */
  String backend() {
    return backend(service, name);
  }

  static String backend(ServiceKey service, String name) {
    String plain = name.replaceAll("[^A-Za-z0-9_-]", "-");
    String unique = plain;
    if (!plain.equals(name)) {
      var sum = new CRC32C();
      sum.update(name.getBytes(java.nio.charset.StandardCharsets.UTF_8));
      unique = plain + "." + HexFormat.of().toHexDigits((int) sum.getValue());
    }
    return "%s:%s:%s".formatted(service.deployment(), service.service(), unique);
  }

  /** How many places its backend has; more come with a reload. */
  int slots() {
    int most = servers.stream().mapToInt(Server::slot).max().orElse(0);
    int slots = FEWEST_SLOTS;
    while (slots < most) {
      slots *= 2;
    }
    return slots;
  }

  /** Who is in a place. */
  Optional<Server> server(int slot) {
    return servers.stream().filter(server -> server.slot() == slot).findFirst();
  }

  /** What HAProxy counted about the endpoints of a service. */
  static Requests requests(List<IngressEndpoint> endpoints, Map<String, Traffic> traffic) {
    long total = 0;
    long open = 0;
    var members = new HashMap<String, Served>();
    for (IngressEndpoint endpoint : endpoints) {
      Traffic all = traffic.getOrDefault(endpoint.backend(), Traffic.NONE);
      total += all.requests();
      open += all.open();
      for (Server server : endpoint.servers()) {
        Traffic own = traffic.getOrDefault(endpoint.backend() + "/s" + server.slot(), Traffic.NONE);
        members.merge(
            server.container(),
            new Served(own.requests(), own.errors() + own.failures()),
            (one, other) ->
                new Served(one.requests() + other.requests(), one.errors() + other.errors()));
      }
    }
    return new Requests(total, open, members);
  }

  /** The requests of a replica that are under way. */
  long open(String container, Map<String, Traffic> traffic) {
    return servers.stream()
        .filter(server -> server.container().equals(container))
        .mapToLong(
            server -> traffic.getOrDefault(backend() + "/s" + server.slot(), Traffic.NONE).open())
        .sum();
  }

  /** Whether clients speak TLS with the ingress. */
  boolean encrypted() {
    return route.encryption().tls().filter(tls -> !tls.passedThrough()).isPresent();
  }

  /** Whether it is given requests, with TLS. */
  boolean https() {
    return encrypted() && !stream;
  }

  /** The hosts whose connections with TLS are all its own, or for which it shares HTTPS. */
  List<String> tlsHosts() {
    return stream || encrypted() ? route.hosts() : List.of();
  }

  /** The certificates that its hosts need. */
  List<HostTls> certificates() {
    return route.encryption().tls().stream()
        .filter(tls -> !tls.passedThrough())
        .flatMap(tls -> route.hosts().stream().map(host -> certificate(host, tls)))
        .toList();
  }

  private HostTls certificate(String host, TlsSpec tls) {
    HostTls.Kind kind =
        tls.secret().isPresent()
            ? HostTls.Kind.SECRET
            : tls.fromAcme() ? HostTls.Kind.ACME : HostTls.Kind.SELF_SIGNED;
    return new HostTls(host, kind, service.deployment(), tls.secret());
  }

  /** What it is given requests for: host and path, with a slash at the end. */
  List<String> routes() {
    return stream
        ? List.of()
        : route.hosts().stream().map(host -> host + route.prefix() + "/").toList();
  }

  /**
   * What tells HAProxy of its servers; who is ready comes first, so that there is always somebody.
   */
  List<String> commands() {
    var first = new ArrayList<String>();
    var then = new ArrayList<String>();
    for (int slot = 1; slot <= slots(); slot++) {
      String server = "set server %s/s%d ".formatted(backend(), slot);
      Optional<Server> ready = server(slot).filter(Server::ready);
      if (ready.isPresent()) {
        first.add(
            server + "addr %s port %d".formatted(ready.get().address().getHostAddress(), port()));
        first.add(server + "weight " + ready.get().weight());
        first.add(server + "state ready");
      } else {
        then.add(server + "state maint");
      }
    }
    first.addAll(then);
    return first;
  }

  /** Why it cannot be served beside one of another service. */
  Optional<String> collision(IngressEndpoint other) {
    if (other.service().equals(service)) {
      return Optional.empty();
    }
    var same = new HashSet<>(routes());
    same.retainAll(other.routes());
    if (!same.isEmpty()) {
      return Optional.of(
          "%s is already served by endpoint '%s' of %s; write another host or path"
              .formatted(same.iterator().next(), other.name(), other.service()));
    }
    return sameName(other).or(() -> otherCertificate(other));
  }

  /** Connections with TLS for a host either have requests, or are all for one endpoint. */
  private Optional<String> sameName(IngressEndpoint other) {
    if (!stream && !other.stream()) {
      return Optional.empty();
    }
    return tlsHosts().stream()
        .filter(other.tlsHosts()::contains)
        .findFirst()
        .map(
            host ->
                "connections with TLS for %s already go to endpoint '%s' of %s; write another host"
                    .formatted(host, other.name(), other.service()));
  }

  /** A host has one certificate, whoever serves its paths. */
  private Optional<String> otherCertificate(IngressEndpoint other) {
    for (HostTls mine : certificates()) {
      for (HostTls theirs : other.certificates()) {
        boolean same =
            mine.kind() == theirs.kind()
                && (mine.kind() != HostTls.Kind.SECRET || mine.equals(theirs));
        if (mine.host().equals(theirs.host()) && !same) {
          return Optional.of(
              "%s has another certificate by endpoint '%s' of %s; write the same tls"
                  .formatted(mine.host(), other.name(), other.service()));
        }
      }
    }
    return Optional.empty();
  }
}
