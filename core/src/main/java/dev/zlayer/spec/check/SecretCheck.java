package dev.zlayer.spec.check;

import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.problem.Nearest;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.security.SecretFileSpec;
import dev.zlayer.spec.value.EnvValue;
import dev.zlayer.spec.value.SecretRef;
import java.util.HashSet;
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
              files(service, path, services, findings);
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
            if (part instanceof EnvValue.Secret(SecretRef reference)) {
              check(reference, path.key(name), services, findings);
            }
          }
        });
  }

  private static void files(
      ServiceSpec service, SpecPath path, Set<String> services, Findings findings) {
    Set<String> targets = new HashSet<>();
    service.storage().forEach(storage -> targets.add(storage.target()));
    for (int i = 0; i < service.secrets().size(); i++) {
      SpecPath file = path.key("secrets").index(i);
      if (!findings.clean(file)) {
        continue;
      }
      SecretFileSpec secret = service.secrets().get(i);
      check(secret.name(), file, services, findings);
      if (!targets.add(secret.path())) {
        findings.problem(
            file,
            "something is mounted at '%s' already, write another target".formatted(secret.path()));
      }
    }
  }

  private static void check(
      SecretRef reference, SpecPath path, Set<String> services, Findings findings) {
    if (reference.scope() instanceof SecretRef.OfEnvironment) {
      findings.notHonoured(path, "secrets belong to deployments and services, not environments");
    }
    if (reference.scope() instanceof SecretRef.OfService(var owner) && !services.contains(owner)) {
      findings.problem(
          path,
          "the service '%s' does not exist%s".formatted(owner, Nearest.hint(owner, services)));
    }
  }
}
