package dev.zlayer.engine.depend;

import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.service.DependsSpec;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Everything behind what it depends on. Pure; files with circles do not get here. */
public final class DependencyOrder {
  private final Map<String, ServiceSpec> services;
  private final Set<String> ordered = new LinkedHashSet<>();
  private final Set<String> visited = new LinkedHashSet<>();

  private DependencyOrder(Map<String, ServiceSpec> services) {
    this.services = services;
  }

  public static List<String> of(Map<String, ServiceSpec> services) {
    var order = new DependencyOrder(services);
    services.keySet().forEach(order::visit);
    return List.copyOf(order.ordered);
  }

  private void visit(String name) {
    ServiceSpec service = services.get(name);
    if (service == null || !visited.add(name)) {
      return;
    }
    service.lifecycle().depends().stream().map(DependsSpec::service).forEach(this::visit);
    ordered.add(name);
  }
}
