package dev.zlayer.proxy.ingress;

import dev.zlayer.container.ServiceKey;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Those who want to know of the next request for a service that has no replica. Listeners may be
 * added by any thread; all else belongs to the owner of the ingress.
 */
final class RequestWatch {
  private final Map<ServiceKey, Runnable> listeners = new ConcurrentHashMap<>();

  /** Requests that had come when a listener was first seen, by that listener. */
  private final Map<Runnable, Long> before = new HashMap<>();

  void add(ServiceKey service, Runnable listener) {
    listeners.put(service, listener);
  }

  void remove(ServiceKey service) {
    listeners.remove(service);
  }

  boolean isEmpty() {
    return listeners.isEmpty();
  }

  /** The backends that have to be counted. */
  List<String> backends(Collection<IngressEndpoint> endpoints) {
    return endpoints.stream()
        .filter(endpoint -> listeners.containsKey(endpoint.service()))
        .map(IngressEndpoint::backend)
        .toList();
  }

  /** Calls listeners whose service was asked for, each once. */
  void check(Collection<IngressEndpoint> endpoints, Map<String, Traffic> traffic) {
    before.keySet().retainAll(listeners.values());
    listeners.forEach(
        (service, listener) -> {
          List<Traffic> own =
              endpoints.stream()
                  .filter(endpoint -> endpoint.service().equals(service))
                  .flatMap(
                      endpoint ->
                          java.util.stream.Stream.ofNullable(traffic.get(endpoint.backend())))
                  .toList();
          if (own.isEmpty()) {
            return; // HAProxy does not answer, or has not read of it yet
          }
          long requests = own.stream().mapToLong(Traffic::requests).sum();
          boolean waiting = own.stream().anyMatch(one -> one.open() > 0);
          Long old = before.putIfAbsent(listener, requests);
          if (waiting || (old != null && old != requests)) {
            before.remove(listener);
            if (listeners.remove(service, listener)) {
              listener.run();
            }
          }
        });
  }
}
