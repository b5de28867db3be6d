package dev.zlayer.spec.check;

import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.service.HealthCheck;
import dev.zlayer.spec.service.HealthSpec;
import dev.zlayer.spec.value.Transport;

/** Health checks that can be carried out. */
final class HealthSpecCheck {
  private HealthSpecCheck() {}

  static void check(ServiceSpec service, SpecPath servicePath, Findings findings) {
    if (service.lifecycle().health().isEmpty()) {
      return;
    }
    HealthSpec health = service.lifecycle().health().get();
    SpecPath path = servicePath.key("health");
    findings.positive(path.key("interval"), health.interval());
    findings.positive(path.key("timeout"), health.timeout());
    boolean noPort =
        service.networking().endpoints().stream()
            .allMatch(endpoint -> endpoint.protocol().transport() == Transport.UDP);
    if (health.check() instanceof HealthCheck.Http http && http.url().startsWith("/") && noPort) {
      findings.problem(
          path.key("check").key("url"),
          "a path means the first endpoint and none takes connections, write a full address");
    }
    if (health.check() instanceof HealthCheck.Http http) {
      String url = http.url();
      findings.address(
          path.key("check").key("url"), url.startsWith("/") ? "http://localhost" + url : url);
    }
    if (health.check() instanceof HealthCheck.Tcp(int port) && port == 0 && noPort) {
      findings.warn(
          path,
          "port 0 means the first endpoint and none takes connections, so a running replica is"
              + " healthy");
    }
  }
}
