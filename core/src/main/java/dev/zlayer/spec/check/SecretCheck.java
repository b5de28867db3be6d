package dev.zlayer.spec.check;

import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.problem.Nearest;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.value.EnvValue;
import dev.zlayer.spec.value.SecretRef;
import java.util.Map;
import java.util.Set;

/** Secrets of a service are those of a service that exists. */
final class SecretCheck {
  private SecretCheck() {}

  static void check(DeploymentSpec deployment, Findings findings) {
    Set<String> services = deployment.services().keySet();
    deployment
        .services()
        .forEach(
            (name, service) -> {
              SpecPath path = Checks.service(name);
              check(service.env(), path.key("env"), services, findings);
              var groups = service.lifecycle().replicaGroups();
              for (int i = 0; i < groups.size(); i++) {
                SpecPath env = path.key("replica_groups").index(i).key("env");
                check(groups.get(i).env(), env, services, findings);
              }
            });
  }

  private static void check(
      Map<String, EnvValue> env, SpecPath path, Set<String> services, Findings findings) {
    env.forEach(
        (name, value) -> {
          for (EnvValue.Part part : value.parts()) {
            if (part instanceof EnvValue.Secret(SecretRef(SecretRef.OfEnvironment _, _, _))) {
              findings.notHonoured(
                  path.key(name), "secrets belong to deployments and services, not environments");
            }
            if (part instanceof EnvValue.Secret(SecretRef(SecretRef.OfService(var owner), _, _))
                && !services.contains(owner)) {
              findings.problem(
                  path.key(name),
                  "the service '%s' does not exist%s"
                      .formatted(owner, Nearest.hint(owner, services)));
            }
          }
        });
  }
}
