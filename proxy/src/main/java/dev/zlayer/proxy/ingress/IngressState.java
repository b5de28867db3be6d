package dev.zlayer.proxy.ingress;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Rotation.Members;
import dev.zlayer.port.Rotation.Requests;
import dev.zlayer.proxy.tls.Certificates;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Owner;
import dev.zlayer.task.TimeSource;
import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * What the ingress serves, and what HAProxy knows of it. A change is recorded, written to HAProxy's
 * configuration, and applied: servers through its sockets, everything else by a reload. What failed
 * is applied again with the next round.
 */
final class IngressState implements Owner.State {
  private static final Duration WATCH = Duration.ofSeconds(2);
  private static final Duration LISTEN = Duration.ofMillis(100);
  private static final Duration LOG_WATCH = Duration.ofSeconds(10);
  private static final Duration IDLE = Duration.ofHours(1);
  private static final System.Logger LOG = LazyLogger.of(IngressState.class);

  private final IngressConfig config;
  private final Haproxy haproxy;
  private final IngressStore store;
  private final Map<ServiceKey, List<IngressEndpoint>> services;
  private final AccessLog accessLog;
  private final ModeStore modeStore;
  private final Map<ServiceKey, RouteMode> modes;

  /** The commands that gave backends the servers they have; empty when that is unknown. */
  private Map<String, List<String>> applied = Map.of();

  /** What workers before the current one counted. */
  private Map<String, Traffic> counted = Map.of();

  private final IngressCertificates certificates;
  private final RequestWatch watch;
  private Deadline nextLook = Deadline.after(Duration.ZERO);
  private final Supplier<Optional<IngressUsers>> users;
  private final Ejections ejections = new Ejections();
  private final Consumer<Ingress.Ejection> ejected;
  private final TimeSource time;
  private Deadline nextComparison = Deadline.after(Duration.ZERO);
  private boolean settled;
  private boolean certified;

  /** HAProxy cannot use what was to be applied last. */
  private boolean refused;

  private final RefusedServices left = new RefusedServices();

  private boolean logging;
  private Deadline nextLogLook = Deadline.after(LOG_WATCH);

  /** Why the last round failed: it is logged once, not with each further one. */
  private Optional<String> failure = Optional.empty();

  IngressState(
      IngressConfig config,
      Haproxy haproxy,
      Supplier<Optional<Certificates>> certificates,
      Supplier<Optional<IngressUsers>> users,
      RequestWatch watch,
      Consumer<Ingress.Ejection> ejected,
      TimeSource time) {
    this.ejected = ejected;
    this.time = time;
    this.users = users;
    this.config = config;
    this.haproxy = haproxy;
    this.watch = watch;
    this.certificates = new IngressCertificates(config, haproxy, certificates);
    this.store = new IngressStore(config.directory());
    this.services = new TreeMap<>(store.load());
    this.accessLog = new AccessLog(config);
    this.modeStore = new ModeStore(config.state());
    this.modes = new TreeMap<>(modeStore.load());
  }

  /** Throws when an endpoint cannot be served; the others are. */
  boolean update(Members service) throws InterruptedException {
    List<IngressEndpoint> before = services.getOrDefault(service.service(), List.of());
    var problems = new ArrayList<String>();
    var endpoints = new ArrayList<IngressEndpoint>();
    for (IngressEndpoint endpoint : IngressEndpoint.of(service, before)) {
      Optional<String> problem = haproxy.obstacle().or(() -> collision(endpoint));
      problem.ifPresentOrElse(
          reason -> problems.add("endpoint '%s': %s".formatted(endpoint.name(), reason)),
          () -> {
            endpoints.add(endpoint);
            users
                .get()
                .flatMap(source -> source.problem(endpoint))
                .ifPresent(
                    reason -> problems.add("endpoint '%s': %s".formatted(endpoint.name(), reason)));
          });
    }
    set(service.service(), endpoints);
    left.reason(service.service())
        .ifPresent(reason -> problems.add("HAProxy refuses its endpoints: " + reason));
    if (!problems.isEmpty()) {
      throw new AgentException.Configuration(
          "%s: %s".formatted(service.service(), String.join("; ", problems)));
    }
    return true;
  }

  /** Who already has one of its routes: the first that came keeps it. */
  private Optional<String> collision(IngressEndpoint endpoint) {
    return services.values().stream()
        .flatMap(List::stream)
        .flatMap(other -> endpoint.collision(other).stream())
        .findFirst();
  }

  boolean remove(ServiceKey service) throws InterruptedException {
    forgetModes(List.of(service));
    set(service, List.of());
    return true;
  }

  /** Sets a service aside, or resumes it; the next agents continue with that. */
  boolean mode(ServiceKey service, Optional<RouteMode> mode) throws InterruptedException {
    if (!services.containsKey(service)) {
      throw new AgentException.NotFound(
          "route of " + service, "it has no endpoint with a host or a path");
    }
    var changed = new TreeMap<>(modes);
    mode.ifPresentOrElse(one -> changed.put(service, one), () -> changed.remove(service));
    if (!changed.equals(modes)) {
      modeStore.save(changed);
      modes.clear();
      modes.putAll(changed);
      settled = false;
      apply();
    }
    return true;
  }

  private void forgetModes(Collection<ServiceKey> removed) {
    if (modes.keySet().removeAll(removed)) {
      modeStore.save(modes);
    }
  }

  Optional<RouteMode> mode(ServiceKey service) {
    return Optional.ofNullable(modes.get(service));
  }

  /** Forgets services that are none of these. */
  boolean retain(Collection<ServiceKey> known) throws InterruptedException {
    var others = new HashSet<>(services.keySet());
    others.removeAll(new HashSet<>(known));
    var set = new HashSet<>(modes.keySet());
    set.removeAll(new HashSet<>(known));
    forgetModes(set);
    for (ServiceKey service : others) {
      set(service, List.of());
    }
    return true;
  }

  private void set(ServiceKey service, List<IngressEndpoint> endpoints)
      throws InterruptedException {
    List<IngressEndpoint> before = services.getOrDefault(service, List.of());
    boolean routed = !before.isEmpty() || !endpoints.isEmpty();
    if (!routed || (settled && before.equals(endpoints))) {
      return; // most services have no routes, and must not wait for those that have
    }
    if (!before.equals(endpoints)) {
      keep(service, endpoints);
    }
    settled = false;
    try {
      apply();
    } catch (AgentException e) {
      if (refused && !before.equals(endpoints)) {
        keep(service, before); // with the others no endpoint at all could be changed any more
      }
      throw e;
    }
  }

  private void keep(ServiceKey service, List<IngressEndpoint> endpoints) {
    store.save(service, endpoints);
    left.forget(service);
    if (endpoints.isEmpty()) {
      services.remove(service);
    } else {
      services.put(service, List.copyOf(endpoints));
    }
  }

  /** What earlier workers counted, by backend and server. */
  Map<String, Traffic> counted() {
    return counted;
  }

  /** All that is served. */
  List<IngressEndpoint> endpoints() {
    return endpoints(services.keySet().stream().filter(one -> !left.contains(one)).toList());
  }

  private List<IngressEndpoint> endpoints(List<ServiceKey> of) {
    return of.stream()
        .flatMap(service -> services.getOrDefault(service, List.of()).stream())
        .toList();
  }

  private void apply() throws InterruptedException {
    refused = false;
    List<IngressEndpoint> endpoints = endpoints();
    certificates.want(endpoints);
    certificates.write();
    certified = true;
    if (endpoints.isEmpty()) {
      haproxy.stop();
      applied = Map.of();
      counted = Map.of();
      logging = false; // it ends with HAProxy
      settled = true;
      return;
    }
    Map<String, Map<String, String>> maps = maps(endpoints);
    HaproxyConfig wanted = HaproxyConfig.of(config, Haproxy.account(), endpoints, maps);
    Optional<String> serving = haproxy.serving();
    if (serving.equals(Optional.of(wanted.fingerprint()))) {
      haproxy.write(wanted);
      servers(endpoints.stream().map(ejections::without).toList());
      applyMaps(maps);
      certificates.apply();
    } else {
      applied = Map.of();
      certificates.forget();
      Optional<String> refusal = haproxy.refusal(wanted);
      if (refusal.isPresent()) {
        refused = true;
        throw new AgentException.Configuration(
            "HAProxy refused the configuration of the ingress: " + refusal.get());
      }
      haproxy.write(wanted);
      counted = Traffic.sum(counted, haproxy.traffic()); // the next worker begins at zero
      logging = logging && serving.isPresent();
      haproxy.serve(wanted);
      remember(endpoints);
      servers(endpoints.stream().map(ejections::without).toList());
      certificates.read();
    }
    if (!logging) {
      // beside a HAProxy that an earlier agent left running, what it started is there as well
      if (serving.isEmpty() || !accessLog.started()) {
        accessLog.start();
      }
      logging = true;
    }
    settled = true;
  }

  /** Before there are secrets, users are those that were written last. */
  private Map<String, Map<String, String>> maps(List<IngressEndpoint> endpoints) {
    var maps = new TreeMap<String, Map<String, String>>();
    maps.put(ModeRules.MAP, ModeRules.entries(endpoints, modes));
    if (users.get().isPresent() || !Files.exists(config.directory().resolve(IngressUsers.MAP))) {
      maps.put(
          IngressUsers.MAP, users.get().map(source -> source.entries(endpoints)).orElse(Map.of()));
    }
    return maps;
  }

  private void applyMaps(Map<String, Map<String, String>> wanted) throws InterruptedException {
    for (Map.Entry<String, Map<String, String>> map : wanted.entrySet()) {
      List<String> commands = mapCommands(map.getKey(), map.getValue());
      if (!commands.isEmpty()) {
        haproxy.command(commands);
        if (!mapCommands(map.getKey(), map.getValue()).isEmpty()) {
          throw new AgentException.Configuration("HAProxy did not change " + map.getKey());
        }
      }
    }
  }

  private List<String> mapCommands(String name, Map<String, String> wanted) {
    return ModeRules.commands(config.directory().resolve(name), haproxy.map(name), wanted);
  }

  private void servers(List<IngressEndpoint> endpoints) throws InterruptedException {
    for (IngressEndpoint endpoint : endpoints) {
      List<String> commands = endpoint.commands();
      if (!commands.equals(applied.get(endpoint.backend()))) {
        haproxy.command(commands);
        verify(endpoint);
      }
    }
    remember(endpoints);
  }

  private void remember(List<IngressEndpoint> endpoints) {
    var commands = new HashMap<String, List<String>>();
    endpoints.forEach(endpoint -> commands.put(endpoint.backend(), endpoint.commands()));
    applied = Map.copyOf(commands);
  }

  /** Answers to commands are prose: what they did is read back instead. */
  private void verify(IngressEndpoint endpoint) {
    for (Haproxy.ServerLine line : haproxy.servers(endpoint.backend())) {
      int slot = Integer.parseInt(line.name().substring(1));
      Optional<IngressEndpoint.Server> ready =
          endpoint.server(slot).filter(IngressEndpoint.Server::ready);
      boolean same =
          ready.isPresent()
              ? line.ready()
                  && line.address().equals(ready.get().address().getHostAddress())
                  && line.port().equals(String.valueOf(endpoint.port()))
                  && line.weight().equals(String.valueOf(ready.get().weight()))
              : !line.ready();
      if (!same) {
        throw new AgentException.Configuration(
            "HAProxy did not change server %s of %s".formatted(line.name(), endpoint.backend()));
      }
    }
  }

  /** Some are others than before; the next round serves them. */
  void certificatesChanged() {
    left.forgetAll();
    certified = false;
  }

  /** Users may be others than before. */
  void secretsChanged() {
    if (endpoints().stream().anyMatch(one -> one.route().policy().basicAuth().isPresent())) {
      certified = false;
    }
  }

  /** Answers challenges of authorities, from now on. */
  boolean answer(Map<String, String> challenges) {
    certificates.answer(challenges);
    return true;
  }

  /** Starts HAProxy again when somebody ended it, and applies what failed before. */
  @Override
  public Duration round() throws InterruptedException {
    if (services.isEmpty() && settled && certified) {
      return IDLE;
    }
    if (!watch.isEmpty()) {
      List<IngressEndpoint> endpoints = endpoints();
      watch.check(endpoints, haproxy.traffic(watch.backends(endpoints), false));
    }
    compare();
    if (settled && certified && !nextLook.passed()) {
      return untilNextLook();
    }
    nextLook = Deadline.after(Duration.ZERO); // unless it ends well
    if (!settled || haproxy.serving().isEmpty()) {
      settled = false;
      applied = Map.of();
      certificates.forget();
      applyAgain();
    } else if (!certified) {
      settled = false;
      applyAgain();
    }
    haproxy.trimLog();
    if (logging && nextLogLook.passed()) {
      logging = accessLog.started();
      settled = settled && logging;
      nextLogLook = Deadline.after(LOG_WATCH);
    }
    nextLook = Deadline.after(WATCH);
    return untilNextLook();
  }

  private Duration untilNextLook() {
    Duration left = nextLook.left();
    if (!watch.isEmpty()) {
      left = left.compareTo(LISTEN) > 0 ? LISTEN : left;
    }
    boolean compares = !ejections.backends(endpoints()).isEmpty();
    return compares && left.compareTo(Ejections.STEP) > 0 ? Ejections.STEP : left;
  }

  /** Ejects replicas that fail more than others, and returns them. */
  private void compare() throws InterruptedException {
    List<IngressEndpoint> endpoints = endpoints();
    List<String> backends = ejections.backends(endpoints);
    if (!settled || backends.isEmpty() || !nextComparison.passed()) {
      return;
    }
    nextComparison = Deadline.after(Ejections.STEP);
    List<Ingress.Ejection> changes =
        ejections.check(
            endpoints, haproxy.traffic(backends, true), Instant.EPOCH.plusNanos(time.nanoTime()));
    changes.forEach(ejected);
    if (!changes.isEmpty()) {
      settled = false;
      apply();
    }
  }

  /** Whether a replica gets no requests because it failed. */
  boolean ejected(IngressEndpoint endpoint, IngressEndpoint.Server server) {
    return ejections.ejected(endpoint, server);
  }

  /** How long connections of its replicas may continue, if an endpoint says so. */
  Optional<Duration> drain(ServiceKey service) {
    return services.getOrDefault(service, List.of()).stream()
        .flatMap(endpoint -> endpoint.route().policy().drain().stream())
        .max(Comparator.naturalOrder());
  }

  /** The requests of a service, if it has a route. */
  Optional<Requests> requests(ServiceKey service) {
    List<IngressEndpoint> own = services.getOrDefault(service, List.of());
    Map<String, Traffic> now =
        haproxy.traffic(own.stream().map(IngressEndpoint::backend).toList(), true);
    return own.isEmpty() || now.isEmpty()
        ? Optional.empty()
        : Optional.of(IngressEndpoint.requests(own, Traffic.sum(counted, now)));
  }

  private void applyAgain() throws InterruptedException {
    try {
      applyWithoutRefused();
      if (failure.isPresent()) {
        LOG.log(System.Logger.Level.INFO, "the ingress works again");
      }
      failure = Optional.empty();
    } catch (AgentException e) {
      Optional<String> reason = Optional.of(String.valueOf(e.getMessage()));
      if (!failure.equals(reason)) {
        LOG.log(System.Logger.Level.WARNING, "tried again until it works: {0}", e.getMessage());
      }
      failure = reason;
      throw e;
    }
  }

  /** Those that HAProxy refuses are left out, so that they keep nobody else from being served. */
  private void applyWithoutRefused() throws InterruptedException {
    try {
      apply();
    } catch (AgentException e) {
      if (!refused) {
        throw e;
      }
      Map<ServiceKey, String> found =
          left.find(
              services.keySet().stream().filter(one -> !left.contains(one)).toList(),
              some -> {
                List<IngressEndpoint> endpoints = endpoints(some);
                return haproxy.refusal(
                    HaproxyConfig.of(config, Haproxy.account(), endpoints, maps(endpoints)));
              });
      if (found.isEmpty()) {
        throw e;
      }
      found.forEach(
          (service, reason) ->
              LOG.log(
                  System.Logger.Level.WARNING,
                  "{0} has endpoints that HAProxy refuses, they are not served: {1}",
                  service,
                  reason));
      apply();
    }
  }
}
