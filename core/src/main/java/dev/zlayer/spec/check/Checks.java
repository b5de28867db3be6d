package dev.zlayer.spec.check;

import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.problem.SpecPath;
import java.util.List;

/** All rules; a new one is a class with one method, named here. */
public final class Checks {
  /** A rule about one service. */
  @FunctionalInterface
  private interface ServiceRule {
    void check(ServiceSpec service, SpecPath path, Findings findings);
  }

  /** A rule about a deployment as a whole. */
  @FunctionalInterface
  private interface DeploymentRule {
    void check(DeploymentSpec deployment, Findings findings);
  }

  private static final List<ServiceRule> SERVICE =
      List.of(
          RunTypeCheck::check,
          EndpointCheck::check,
          NetworkCheck::check,
          ScaleCheck::check,
          SingleInstanceCheck::check,
          UpdateCheck::check,
          HealthSpecCheck::check,
          InitCheck::check,
          StorageCheck::check,
          ResourceCheck::check,
          GpuCheck::check,
          SecurityCheck::check,
          WasmCheck::check,
          SupportCheck::check);

  private static final List<DeploymentRule> DEPLOYMENT =
      List.of(
          DependsCheck::check,
          PortCheck::check,
          RouteCheck::collisions,
          StreamEndpointCheck::collisions,
          TlsCheck::oneCertificate,
          VolumeCheck::check,
          SecretCheck::check);

  private Checks() {}

  public static void run(DeploymentSpec deployment, Findings findings) {
    SpecPath services = SpecPath.ROOT.key("services");
    deployment
        .services()
        .forEach(
            (name, service) ->
                SERVICE.forEach(rule -> rule.check(service, services.key(name), findings)));
    DEPLOYMENT.forEach(rule -> rule.check(deployment, findings));
  }

  static SpecPath service(String name) {
    return SpecPath.ROOT.key("services").key(name);
  }
}
