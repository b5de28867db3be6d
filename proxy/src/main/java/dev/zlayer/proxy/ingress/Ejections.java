package dev.zlayer.proxy.ingress;

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
import java.util.Set;

/**
 * Which replicas get no requests for a while, because they fail much more often than the others of
 * the same endpoint: a client that asks for what fails everywhere ejects nobody. At most half of
 * the replicas are ejected, each for a limited time that doubles when it fails again. Decides from
 * counts and times that it is given; used by the owner of the ingress alone.
 */
final class Ejections {
  /** How often counts are compared. */
  static final Duration STEP = Duration.ofSeconds(1);

  private static final Duration WINDOW = Duration.ofSeconds(10);
  private static final Duration FORGIVEN = Duration.ofMinutes(5);
  private static final int FEWEST_FAILURES = 5;
  private static final int FEWEST_OTHERS = 5;
  private static final int MOST_DOUBLINGS = 4;

  /** A replica at an endpoint. */
  private record Key(String backend, String container) {}

  /** Counts of HAProxy, which begin at zero with each worker. */
  private record Counts(long requests, long failures) {
    static final Counts NONE = new Counts(0, 0);

    static Counts of(Traffic traffic) {
      long failures = traffic.errors() + traffic.failures();
      return new Counts(Math.max(traffic.requests(), failures), failures);
    }

    Counts minus(Counts before) {
      return requests < before.requests || failures < before.failures
          ? NONE
          : new Counts(requests - before.requests, failures - before.failures);
    }

    Counts plus(Counts more) {
      return new Counts(requests + more.requests, failures + more.failures);
    }

    double rate() {
      return requests == 0 ? 0 : (double) failures / requests;
    }
  }

  /** What is known of a replica: its counts at the beginning of a window, and earlier ejections. */
  private record Known(Instant since, Counts from, int times, boolean out, Instant until) {
    static Known first(Instant now, Counts from) {
      return new Known(now, from, 0, false, now);
    }

    /** A new window; who did not fail again for long begins anew. */
    Known window(Instant now, Counts counts) {
      boolean forgiven = until.plus(FORGIVEN).isBefore(now);
      return new Known(now, counts, forgiven ? 0 : times, false, until);
    }

    Known ejected(Instant now, Duration time) {
      return new Known(now, from, times + 1, true, now.plus(time));
    }
  }

  private final Map<Key, Known> known = new HashMap<>();

  /** The backends whose servers have to be counted. */
  List<String> backends(Collection<IngressEndpoint> endpoints) {
    return endpoints.stream().filter(Ejections::watched).map(IngressEndpoint::backend).toList();
  }

  private static boolean watched(IngressEndpoint endpoint) {
    return endpoint.route().policy().ejectFailing().isPresent();
  }

  /** The endpoint with those servers ready that are not ejected. */
  IngressEndpoint without(IngressEndpoint endpoint) {
    return endpoint.servers().stream().anyMatch(server -> ejected(endpoint, server))
        ? endpoint.withServers(
            endpoint.servers().stream()
                .map(server -> ejected(endpoint, server) ? server.unready() : server)
                .toList())
        : endpoint;
  }

  boolean ejected(IngressEndpoint endpoint, IngressEndpoint.Server server) {
    Known one = known.get(new Key(endpoint.backend(), server.container()));
    return one != null && one.out();
  }

  /** Compares counts, by backend and server, with those before. */
  List<Ingress.Ejection> check(
      Collection<IngressEndpoint> endpoints, Map<String, Traffic> traffic, Instant now) {
    var changes = new ArrayList<Ingress.Ejection>();
    Set<Key> present = new HashSet<>();
    for (IngressEndpoint endpoint : endpoints) {
      if (watched(endpoint)) {
        endpoint
            .servers()
            .forEach(server -> present.add(new Key(endpoint.backend(), server.container())));
        check(endpoint, traffic, now, changes);
      }
    }
    known.keySet().retainAll(present);
    return changes;
  }

  private void check(
      IngressEndpoint endpoint,
      Map<String, Traffic> traffic,
      Instant now,
      List<Ingress.Ejection> changes) {
    Map<IngressEndpoint.Server, Counts> recent = new HashMap<>();
    List<IngressEndpoint.Server> ready =
        endpoint.servers().stream().filter(IngressEndpoint.Server::ready).toList();
    for (IngressEndpoint.Server server : ready) {
      var key = new Key(endpoint.backend(), server.container());
      Counts counts =
          Optional.ofNullable(traffic.get(endpoint.backend() + "/s" + server.slot()))
              .map(Counts::of)
              .orElse(Counts.NONE);
      Known one = known.computeIfAbsent(key, _ -> Known.first(now, counts));
      if (one.out() && !one.until().isAfter(now)) {
        one = one.window(now, counts);
        changes.add(
            new Ingress.Ejection(
                endpoint.service(), endpoint.name(), server.container(), Optional.empty(), 0, 0));
      } else if (!one.out()
          && (one.since().plus(WINDOW).isBefore(now)
              || counts.requests() < one.from().requests())) {
        one = one.window(now, counts);
      }
      known.put(key, one);
      recent.put(server, counts.minus(one.from()));
    }
    eject(endpoint, ready, recent, now, changes);
  }

  /** The worst first, and never more than half. */
  private void eject(
      IngressEndpoint endpoint,
      List<IngressEndpoint.Server> ready,
      Map<IngressEndpoint.Server, Counts> recent,
      Instant now,
      List<Ingress.Ejection> changes) {
    var in = new ArrayList<>(ready.stream().filter(one -> !ejected(endpoint, one)).toList());
    in.sort(
        Comparator.comparingDouble((IngressEndpoint.Server one) -> counts(recent, one).rate())
            .reversed());
    int room = ready.size() / 2 - (ready.size() - in.size());
    for (IngressEndpoint.Server server : List.copyOf(in)) {
      Counts own = counts(recent, server);
      Counts others =
          in.stream()
              .filter(other -> !other.equals(server))
              .map(other -> counts(recent, other))
              .reduce(Counts.NONE, Counts::plus);
      boolean failing =
          own.failures() >= FEWEST_FAILURES
              && own.rate() >= 0.5
              && others.requests() >= FEWEST_OTHERS
              && others.rate() <= own.rate() / 2;
      if (!failing || room <= 0) {
        return;
      }
      var key = new Key(endpoint.backend(), server.container());
      Known before = known.getOrDefault(key, Known.first(now, own));
      Duration time =
          endpoint
              .route()
              .policy()
              .ejectFailing()
              .orElseThrow()
              .multipliedBy(1L << Math.min(before.times(), MOST_DOUBLINGS));
      known.put(key, before.ejected(now, time));
      changes.add(
          new Ingress.Ejection(
              endpoint.service(),
              endpoint.name(),
              server.container(),
              Optional.of(time),
              own.failures(),
              own.requests()));
      in.remove(server);
      room--;
    }
  }

  private static Counts counts(
      Map<IngressEndpoint.Server, Counts> recent, IngressEndpoint.Server server) {
    return recent.getOrDefault(server, Counts.NONE);
  }
}
