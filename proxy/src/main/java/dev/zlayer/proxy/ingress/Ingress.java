package dev.zlayer.proxy.ingress;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Rotation;
import dev.zlayer.proxy.tls.Certificates;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import java.util.function.Consumer;

/**
 * Endpoints with a host or a path, which HAProxy serves on two ports for all deployments; all other
 * endpoints are left to the proxy in the kernel.
 */
public final class Ingress implements Rotation, AutoCloseable {
  /** How far back percentiles reach. */
  public static final Duration RECENT = Duration.ofMinutes(5);

  private static final Duration FRESH = Duration.ofSeconds(2);
  private static final Duration POLL = Duration.ofMillis(50);

  private final Owner<IngressState> owner;
  private final Haproxy haproxy;
  private final AccessLog accessLog;
  private final Rotation kernel;
  private final AtomicReference<Optional<Certificates>> certificates;
  private final RequestWatch watch;
  private volatile Reading latencies = new Reading(Instant.EPOCH, Map.of());
  private final AtomicReference<Optional<IngressUsers>> users;
  private final AtomicReference<Consumer<Ejection>> ejections;

  private Ingress(
      Owner<IngressState> owner,
      Haproxy haproxy,
      AccessLog accessLog,
      Rotation kernel,
      AtomicReference<Optional<Certificates>> certificates,
      AtomicReference<Optional<IngressUsers>> users,
      AtomicReference<Consumer<Ejection>> ejections,
      RequestWatch watch) {
    this.watch = watch;
    this.users = users;
    this.ejections = ejections;
    this.accessLog = accessLog;
    this.owner = owner;
    this.haproxy = haproxy;
    this.kernel = kernel;
    this.certificates = certificates;
  }

  /** Continues with what the agent before stored; HAProxy runs on meanwhile. */
  public static Ingress open(
      IngressConfig config, Rotation kernel, TimeSource time, Supervisor supervisor)
      throws InterruptedException {
    var haproxy = new Haproxy(config, Pauses.REAL);
    var certificates = new AtomicReference<Optional<Certificates>>(Optional.empty());
    var watch = new RequestWatch();
    var users = new AtomicReference<Optional<IngressUsers>>(Optional.empty());
    var ejections = new AtomicReference<Consumer<Ejection>>(_ -> {});
    Owner<IngressState> owner =
        Owner.ofNative(
            "ingress",
            time,
            supervisor,
            (_, _) ->
                new IngressState(
                    config,
                    haproxy,
                    certificates::get,
                    users::get,
                    watch,
                    change -> Objects.requireNonNull(ejections.get()).accept(change),
                    time));
    return new Ingress(
        owner.start(),
        haproxy,
        new AccessLog(config),
        kernel,
        certificates,
        users,
        ejections,
        watch);
  }

  /**
   * Serves these certificates from now on; until then HAProxy keeps those it has. The owner of
   * certificates never waits for that of the ingress, which may wait for it; orders do.
   */
  public void use(Certificates source) {
    certificates.set(Optional.of(source));
    source.listen(() -> owner.tell(IngressState::certificatesChanged));
    source.answerBy(
        challenges -> {
          boolean _ = owner.ask(state -> state.answer(challenges));
        });
    owner.tell(IngressState::certificatesChanged);
  }

  /** Finds who may use endpoints in these secrets, by deployment and name. */
  public void use(BiFunction<String, String, Optional<String>> secrets) {
    users.set(Optional.of(new IngressUsers(secrets)));
    secretsChanged();
  }

  /** Reads secrets anew; for those who changed one. */
  public void secretsChanged() {
    owner.tell(IngressState::secretsChanged);
  }

  /** Reports replicas that are ejected and that return to {@code listener}. */
  public void onEjection(Consumer<Ejection> listener) {
    ejections.set(listener);
  }

  /**
   * A replica gets no requests for a while, or again.
   *
   * @param time how long; empty when it returns
   * @param failures of {@code requests}, in the seconds before
   */
  public record Ejection(
      ServiceKey service,
      String endpoint,
      String container,
      Optional<Duration> time,
      long failures,
      long requests) {}

  /** Both are told; what one refuses does not keep the other from it. */
  @Override
  public void update(Members service) throws InterruptedException {
    Optional<AgentException> refused = Optional.empty();
    try {
      boolean _ = owner.ask(state -> state.update(service));
    } catch (AgentException e) {
      refused = Optional.of(e);
    }
    kernel.update(service);
    if (refused.isPresent()) {
      throw refused.get();
    }
  }

  /** An endpoint may say how long; the longest of a service decides. */
  @Override
  public void drain(ContainerId member, Deadline deadline) throws InterruptedException {
    var service = new ServiceKey(member.deployment(), member.service());
    Optional<Duration> own = owner.ask(state -> state.drain(service));
    Deadline limit = own.map(Deadline::after).orElse(deadline);
    // a request that HAProxy has placed may have no connection yet
    while (!limit.passed() && serves(service, member)) {
      Pauses.REAL.pause(limit.atMost(POLL).left());
    }
    kernel.drain(member, limit);
  }

  private boolean serves(ServiceKey service, ContainerId member) {
    List<IngressEndpoint> own =
        owner.ask(IngressState::endpoints).stream()
            .filter(endpoint -> endpoint.service().equals(service))
            .toList();
    Map<String, Traffic> now =
        haproxy.traffic(own.stream().map(IngressEndpoint::backend).toList(), true);
    return own.stream().anyMatch(endpoint -> endpoint.open(member.runtimeName(), now) > 0);
  }

  @Override
  public Optional<Requests> requests(ServiceKey service) {
    return owner.ask(state -> state.requests(service));
  }

  @Override
  public void onRequest(ServiceKey service, Runnable listener) {
    watch.add(service, listener);
    owner.wake();
  }

  @Override
  public void remove(ServiceKey service) throws InterruptedException {
    watch.remove(service);
    boolean _ = owner.ask(state -> state.remove(service));
    kernel.remove(service);
  }

  /** Removes the endpoints of services that are none of these: those of an agent that crashed. */
  public void retain(Collection<ServiceKey> known) {
    boolean _ = owner.ask(state -> state.retain(known));
  }

  /**
   * Sets a service aside, or resumes it.
   *
   * @throws AgentException.NotFound it has no endpoint that the ingress serves
   */
  public void mode(ServiceKey service, Optional<RouteMode> mode) {
    boolean _ = owner.ask(state -> state.mode(service, mode));
  }

  /** What it serves. */
  public List<Route> routes() {
    Map<String, Traffic> now = haproxy.traffic();
    return owner.ask(
        state -> {
          Map<String, Traffic> traffic = Traffic.sum(state.counted(), now);
          return state.endpoints().stream().map(one -> Route.of(one, state, traffic)).toList();
        });
  }

  /** The access log of a service, from a time on. */
  public AccessLogReader accessLog(ServiceKey service, Optional<Instant> since) {
    return accessLog.read(service, since);
  }

  /** How long the responses of a service took since a time, as far as the access log reaches. */
  public Latency latency(ServiceKey service, Instant since) {
    return accessLog.latencies(since).getOrDefault(service, Latency.NONE);
  }

  /**
   * What the routes of services carry, of those that have any. The access log is read at most every
   * two seconds.
   *
   * @param endpoints the names of those that have a host or a path
   */
  public Map<ServiceKey, Recent> recent(Map<ServiceKey, List<String>> endpoints, Instant now) {
    Map<ServiceKey, Long> rates = rates(endpoints);
    if (rates.isEmpty()) {
      return Map.of();
    }
    Reading known = latencies;
    if (Duration.between(known.at(), now).abs().compareTo(FRESH) > 0) {
      known = new Reading(now, accessLog.latencies(now.minus(RECENT)));
      latencies = known;
    }
    var all = new HashMap<ServiceKey, Recent>();
    for (Map.Entry<ServiceKey, Long> rate : rates.entrySet()) {
      all.put(
          rate.getKey(),
          new Recent(rate.getValue(), known.latencies().getOrDefault(rate.getKey(), Latency.NONE)));
    }
    return all;
  }

  /** Without its owner, which may be busy with a reload. */
  private Map<ServiceKey, Long> rates(Map<ServiceKey, List<String>> endpoints) {
    var services = new HashMap<String, ServiceKey>();
    endpoints.forEach(
        (service, names) ->
            names.forEach(name -> services.put(IngressEndpoint.backend(service, name), service)));
    var rates = new HashMap<ServiceKey, Long>();
    haproxy
        .traffic(List.copyOf(services.keySet()), false)
        .forEach(
            (backend, traffic) -> {
              ServiceKey service = services.get(backend);
              if (service != null) {
                rates.merge(service, traffic.perSecond(), Long::sum);
              }
            });
    return rates;
  }

  /** What was read of the access log, and when. */
  private record Reading(Instant at, Map<ServiceKey, Latency> latencies) {}

  /** The requests of the last second, and those of the last minutes. */
  public record Recent(long perSecond, Latency latency) {}

  /**
   * Percentiles in milliseconds.
   *
   * @param errors responses with a status from 500 on
   */
  public record Latency(long requests, long errors, long p50, long p95, long p99) {
    static final Latency NONE = new Latency(0, 0, 0, 0, 0);
  }

  /**
   * An endpoint as it is served, for people.
   *
   * @param path empty for all, {@code -} for connections that have none
   * @param port in the containers
   */
  public record Route(
      ServiceKey service,
      String endpoint,
      List<String> hosts,
      String path,
      int port,
      Optional<RouteMode> mode,
      Traffic traffic,
      List<Replica> replicas) {
    static Route of(IngressEndpoint endpoint, IngressState state, Map<String, Traffic> traffic) {
      return new Route(
          endpoint.service(),
          endpoint.name(),
          endpoint.route().hosts(),
          endpoint.stream() ? "-" : endpoint.route().prefix(),
          endpoint.port(),
          state.mode(endpoint.service()),
          traffic.getOrDefault(endpoint.backend(), Traffic.NONE),
          endpoint.servers().stream()
              .map(
                  server ->
                      new Replica(
                          server.container(),
                          server.address().getHostAddress() + ":" + endpoint.port(),
                          server.ready(),
                          state.ejected(endpoint, server),
                          traffic.getOrDefault(
                              endpoint.backend() + "/s" + server.slot(), Traffic.NONE)))
              .toList());
    }
  }

  /** A replica that requests are sent to when it is ready and not ejected. */
  public record Replica(
      String container, String address, boolean ready, boolean ejected, Traffic traffic) {}

  /** Leaves HAProxy running. */
  @Override
  public void close() {
    owner.close();
  }
}
