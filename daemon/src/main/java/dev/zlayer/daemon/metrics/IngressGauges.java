package dev.zlayer.daemon.metrics;

import dev.zlayer.proxy.ingress.Ingress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;

/** What the ingress counted, by service and endpoint. */
public final class IngressGauges implements Metrics.Gauges {
  private final Optional<Ingress> ingress;

  public IngressGauges(Optional<Ingress> ingress) {
    this.ingress = ingress;
  }

  @Override
  public List<Metrics.Gauge> read() {
    List<Ingress.Route> routes = ingress.map(Ingress::routes).orElse(List.of());
    var gauges = new ArrayList<Metrics.Gauge>();
    for (Ingress.Route route : routes) {
      new TreeMap<>(route.traffic().statuses())
          .forEach(
              (status, count) -> {
                var labels = new TreeMap<>(labels(route));
                labels.put("code", status);
                gauges.add(
                    new Metrics.Gauge(
                        "zlayer_ingress_responses_total",
                        "Responses of the ingress by the first digit of their status.",
                        labels,
                        count));
              });
    }
    each(
        routes,
        "zlayer_ingress_failures_total",
        "Connections that a replica refused, or ended without a response.",
        route -> route.traffic().failures(),
        gauges);
    each(
        routes,
        "zlayer_ingress_requests_open",
        "Requests under way.",
        route -> route.traffic().open(),
        gauges);
    each(
        routes,
        "zlayer_ingress_replicas_ready",
        "Replicas that requests are sent to.",
        route -> route.replicas().stream().filter(Ingress.Replica::ready).count(),
        gauges);
    each(
        routes,
        "zlayer_ingress_response_milliseconds",
        "Average time of the last 1,024 requests.",
        route -> route.traffic().averageMillis(),
        gauges);
    return gauges;
  }

  private static void each(
      List<Ingress.Route> routes,
      String name,
      String help,
      Function<Ingress.Route, Long> value,
      List<Metrics.Gauge> gauges) {
    routes.forEach(
        route -> gauges.add(new Metrics.Gauge(name, help, labels(route), value.apply(route))));
  }

  private static Map<String, String> labels(Ingress.Route route) {
    return Map.of(
        "deployment",
        route.service().deployment(),
        "service",
        route.service().service(),
        "endpoint",
        route.endpoint());
  }
}
