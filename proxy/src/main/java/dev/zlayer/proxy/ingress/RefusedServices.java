package dev.zlayer.proxy.ingress;

import dev.zlayer.container.ServiceKey;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Services whose endpoints HAProxy cannot use, with what it says. A change that it refuses is not
 * kept, but what an agent finds on its disk may be refused by a later version of either program:
 * these services are left out, so that all others are served.
 */
final class RefusedServices {
  private final Map<ServiceKey, String> reasons = new TreeMap<>();

  /** What HAProxy says about a configuration with these services alone; empty when it is usable. */
  @FunctionalInterface
  interface Check {
    Optional<String> problem(List<ServiceKey> services) throws InterruptedException;
  }

  boolean contains(ServiceKey service) {
    return reasons.containsKey(service);
  }

  /** For the one who asks for its endpoints. */
  Optional<String> reason(ServiceKey service) {
    return Optional.ofNullable(reasons.get(service));
  }

  /** It has other endpoints now. */
  void forget(ServiceKey service) {
    reasons.remove(service);
  }

  /** Certificates may be others now. */
  void forgetAll() {
    reasons.clear();
  }

  /**
   * Finds those that are refused, by halves: one in a thousand takes twenty checks.
   *
   * @return those that are left out from now on; none when a configuration without any service is
   *     refused as well, since then it is none of them
   */
  Map<ServiceKey, String> find(Collection<ServiceKey> services, Check check)
      throws InterruptedException {
    var found = new TreeMap<ServiceKey, String>();
    if (check.problem(List.of()).isEmpty()) {
      find(List.copyOf(services), check, found);
    }
    reasons.putAll(found);
    return found;
  }

  private static void find(List<ServiceKey> services, Check check, Map<ServiceKey, String> found)
      throws InterruptedException {
    Optional<String> problem = check.problem(services);
    if (problem.isEmpty() || services.isEmpty()) {
      return;
    }
    if (services.size() == 1) {
      found.put(services.getFirst(), problem.get());
      return;
    }
    int half = services.size() / 2;
    find(services.subList(0, half), check, found);
    find(services.subList(half, services.size()), check, found);
  }
}
