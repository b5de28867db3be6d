package dev.zlayer.daemon.rest;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.proxy.ingress.AccessLogReader;
import dev.zlayer.proxy.ingress.Ingress;
import dev.zlayer.proxy.ingress.RouteMode;
import dev.zlayer.proxy.ingress.Traffic;
import dev.zlayer.proxy.tls.CertificateStatus;
import dev.zlayer.proxy.tls.Certificates;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.task.Pauses;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Endpoints with a host or a path: who serves them, and whether they are set aside. */
public final class IngressResource implements Resource {
  private static final Duration USUAL_HOLD = Duration.ofSeconds(30);
  private static final Duration POLL = Duration.ofMillis(200);
  private static final Duration LONGEST_HOLD = Duration.ofMinutes(10);

  private final Optional<Ingress> ingress;
  private final Certificates certificates;
  private final InstantSource clock;

  /** Whether requests reach a service. */
  public enum State {
    SERVING,
    PAUSED,
    MAINTENANCE
  }

  /** Sets a service aside, or resumes it. */
  @Doc("Whether requests reach a service.")
  public record Mode(
      @Doc("serving; paused for requests that wait; maintenance for 503 at once.") State state,
      @Doc("How long requests wait while paused, at most 10m (default: 30s).")
          Optional<Duration> hold) {}

  /** A host and a path. */
  record RouteView(
      String host,
      String path,
      String deployment,
      String service,
      String endpoint,
      int port,
      int ready,
      int replicas,
      State state,
      long requestsPerSecond,
      @Doc("Since the ingress last loaded its configuration.") long requests,
      @Doc("Responses with a status from 500 on, since then.") long errors,
      @Doc("When the certificate of the host ends.") Optional<Instant> certificateNotAfter,
      @Doc("Why there is no certificate, or why it was not renewed.")
          Optional<String> certificateError) {}

  /** What was counted since the ingress last loaded its configuration. */
  @Doc("What was counted since the ingress last loaded its configuration.")
  record TrafficView(
      long requestsPerSecond,
      long requests,
      @Doc("Responses by the first digit of their status.") Map<String, Long> statuses,
      @Doc("Connections that a replica refused, or ended without a response.") long failures,
      @Doc("Requests under way.") long open,
      @Doc("Of the last 1,024 requests.") long averageMillis) {
    static TrafficView of(Traffic traffic) {
      return new TrafficView(
          traffic.perSecond(),
          traffic.requests(),
          traffic.statuses(),
          traffic.failures(),
          traffic.open(),
          traffic.averageMillis());
    }
  }

  /** Where requests are sent. */
  record ReplicaView(
      String container,
      String address,
      boolean ready,
      @Doc("Gets no requests for a while, because it failed more often than others.")
          boolean ejected,
      TrafficView traffic) {}

  /** One endpoint. */
  record EndpointView(
      String name,
      List<String> hosts,
      String path,
      int port,
      TrafficView traffic,
      List<ReplicaView> replicas) {
    static EndpointView of(Ingress.Route route) {
      return new EndpointView(
          route.endpoint(),
          route.hosts(),
          shownPath(route),
          route.port(),
          TrafficView.of(route.traffic()),
          route.replicas().stream()
              .map(
                  one ->
                      new ReplicaView(
                          one.container(),
                          one.address(),
                          one.ready(),
                          one.ejected(),
                          TrafficView.of(one.traffic())))
              .toList());
    }
  }

  /** A service that the ingress serves. */
  record ServiceView(
      String deployment,
      String service,
      State state,
      @Doc("How long requests wait while it is paused.") Optional<Duration> hold,
      LatencyView recent,
      List<EndpointView> endpoints) {}

  /** A request of the access log. */
  @Doc("A request that was answered or broken off.")
  record AccessView(
      @Doc("When it began.") Instant time,
      String client,
      String method,
      @Doc("The first 100 bytes.") String host,
      @Doc("Path and query, the first 600 bytes.") String uri,
      String protocol,
      @Doc("-1 when nothing was answered.") int status,
      @Doc("Sent to the client.") long bytes,
      long requestBytes,
      @Doc("Until the whole response was sent.") long ms,
      @Doc("Until the replica began to respond; -1 when it did not.") long responseMs,
      String replica,
      @Doc("Why it ended, as HAProxy's two letters; -- when all was well.") String end,
      String agent,
      String referer,
      @Doc("What was sent as X-Request-Id.") String id) {}

  /** How long responses took in the last minutes. */
  @Doc("How long responses took in the last 5 minutes, as far as the access log reaches.")
  record LatencyView(long requests, long p50Millis, long p95Millis, long p99Millis) {}

  /** Without an ingress where no Linux containers run. */
  public IngressResource(
      Optional<Ingress> ingress, Certificates certificates, InstantSource clock) {
    this.clock = clock;
    this.ingress = ingress;
    this.certificates = certificates;
  }

  @Override
  public String title() {
    return "Ingress";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.view("/ingress/routes", "List hosts and paths with who serves them.", this::list)
            .with("deployment", "Only this deployment.")
            .givesMany(RouteView.class),
        Route.view(
                "/ingress/services/{deployment}/{service}",
                "Show the routes of a service with their replicas and figures.",
                this::show)
            .gives(ServiceView.class),
        Route.put(
                "/ingress/services/{deployment}/{service}/mode",
                "Pause a service, put it into maintenance, or resume it; idempotent.",
                this::mode)
            .takes(Mode.class)
            .givesNothing(),
        Route.get(
                "/ingress/services/{deployment}/{service}/logs",
                "Show the access log of a service, oldest requests first.",
                this::logs)
            .withFlag("follow", "Follow new requests.")
            .withNumber("tail", "Number of lines from the end.")
            .with("since", "From this time, or this duration ago.")
            .streams(AccessView.class, "Requests."));
  }

  private ApiResponse list(ApiRequest call) {
    Optional<String> deployment = call.query("deployment");
    Map<String, CertificateStatus> known =
        certificates.status().stream()
            .collect(Collectors.toMap(CertificateStatus::host, Function.identity(), (a, _) -> a));
    var views = new ArrayList<RouteView>();
    for (Ingress.Route route : all()) {
      if (deployment.map(route.service().deployment()::equals).orElse(true)) {
        route.hosts().forEach(host -> views.add(view(host, route, known)));
      }
    }
    return ApiResponse.json(ViewJson.of(views));
  }

  private static RouteView view(
      String host, Ingress.Route route, Map<String, CertificateStatus> known) {
    Optional<CertificateStatus> certificate = Optional.ofNullable(known.get(host));
    return new RouteView(
        host,
        shownPath(route),
        route.service().deployment(),
        route.service().service(),
        route.endpoint(),
        route.port(),
        (int) route.replicas().stream().filter(Ingress.Replica::ready).count(),
        route.replicas().size(),
        state(route),
        route.traffic().perSecond(),
        route.traffic().requests(),
        route.traffic().errors(),
        certificate.flatMap(CertificateStatus::notAfter),
        certificate.flatMap(CertificateStatus::error));
  }

  private ApiResponse show(ApiRequest call) {
    ServiceKey service = service(call);
    List<Ingress.Route> routes =
        all().stream().filter(route -> route.service().equals(service)).toList();
    if (routes.isEmpty()) {
      throw new AgentException.NotFound(
          "route of " + service, "it has no endpoint with a host or a path");
    }
    return ApiResponse.json(
        ViewJson.of(
            new ServiceView(
                service.deployment(),
                service.service(),
                state(routes.getFirst()),
                routes
                    .getFirst()
                    .mode()
                    .filter(mode -> mode.kind() == RouteMode.Kind.PAUSED)
                    .map(RouteMode::hold),
                latency(service),
                routes.stream().map(EndpointView::of).toList())));
  }

  private LatencyView latency(ServiceKey service) {
    Ingress.Latency latency =
        served(service).latency(service, clock.instant().minus(Ingress.RECENT));
    return new LatencyView(latency.requests(), latency.p50(), latency.p95(), latency.p99());
  }

  private ApiResponse logs(ApiRequest call) {
    ServiceKey service = service(call);
    Ingress serving = served(service);
    Optional<Instant> since = call.time("since", clock.instant());
    OptionalInt tail = call.number("tail");
    boolean follow = call.flag("follow", false);
    return new ApiResponse.Lines(
        out -> {
          try (AccessLogReader reader = serving.accessLog(service, since)) {
            for (AccessLogReader.Line line : last(reader, tail)) {
              out.add(json(line));
            }
            out.flush();
            while (follow) {
              Optional<AccessLogReader.Line> line = reader.next();
              if (line.isPresent()) {
                out.add(json(line.get()));
              } else {
                out.flush();
                Pauses.REAL.pause(POLL);
              }
            }
          }
        });
  }

  /** Those that were written so far, or the last of them. */
  private static Iterable<AccessLogReader.Line> last(AccessLogReader reader, OptionalInt tail) {
    if (tail.isEmpty()) {
      return () ->
          Stream.generate(reader::next)
              .takeWhile(Optional::isPresent)
              .map(Optional::orElseThrow)
              .iterator();
    }
    var kept = new ArrayDeque<AccessLogReader.Line>();
    for (var line = reader.next(); line.isPresent(); line = reader.next()) {
      kept.add(line.get());
      if (kept.size() > tail.getAsInt()) {
        kept.remove();
      }
    }
    return kept;
  }

  private static Json json(AccessLogReader.Line line) {
    Json.Builder json = Json.object().put("time", line.time());
    line.json().members().forEach(json::put);
    return json.build();
  }

  private Ingress served(ServiceKey service) {
    return ingress.orElseThrow(
        () ->
            new AgentException.NotFound(
                "route of " + service, "no Linux containers run on this node"));
  }

  private ApiResponse mode(ApiRequest call) {
    Mode wanted = call.body(Mode.class);
    Duration hold = wanted.hold().orElse(USUAL_HOLD);
    if (wanted.hold().isPresent() && wanted.state() != State.PAUSED) {
      throw new AgentException.InvalidSpec("hold is only for state paused, remove it");
    }
    if (hold.isNegative() || hold.isZero() || hold.compareTo(LONGEST_HOLD) > 0) {
      throw new AgentException.InvalidSpec("hold is more than nothing and at most 10m");
    }
    ServiceKey service = service(call);
    served(service)
        .mode(
            service,
            switch (wanted.state()) {
              case SERVING -> Optional.empty();
              case PAUSED -> Optional.of(RouteMode.paused(hold));
              case MAINTENANCE -> Optional.of(RouteMode.maintenance());
            });
    return ApiResponse.done();
  }

  private List<Ingress.Route> all() {
    return ingress.map(Ingress::routes).orElse(List.of());
  }

  private static ServiceKey service(ApiRequest call) {
    return new ServiceKey(call.path("deployment"), call.path("service"));
  }

  private static String shownPath(Ingress.Route route) {
    return route.path().isEmpty() ? "/" : route.path();
  }

  private static State state(Ingress.Route route) {
    return route
        .mode()
        .map(mode -> mode.kind() == RouteMode.Kind.PAUSED ? State.PAUSED : State.MAINTENANCE)
        .orElse(State.SERVING);
  }
}
