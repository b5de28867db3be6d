package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.Desired.Assignment;
import dev.zlayer.cluster.secret.SecretId;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.value.SecretRef;
import java.lang.reflect.RecordComponent;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;

/**
 * Which secrets a node needs, of one deployment: those of the services and jobs that it is to run,
 * and those that say who may use endpoints, because every node serves these. Pure. A node asks for
 * what it needs, and is given what it needs: both decide here.
 */
final class SecretNeeds {
  private SecretNeeds() {}

  /**
   * What the cluster has decided about a deployment on a node.
   *
   * @param assigned what the node runs of it, with the file of that revision
   * @param jobs those with executions that the node has
   * @param desired the newest file; empty when the deployment is being removed
   */
  record Part(
      Optional<Assignment> assigned,
      Optional<DeploymentSpec> file,
      Set<String> jobs,
      Optional<DeploymentSpec> desired) {
    Part {
      jobs = Set.copyOf(jobs);
    }
  }

  /** Of those that exist. */
  static Set<SecretId> of(String deployment, Part part, Predicate<SecretId> exists) {
    var references = new LinkedHashSet<SecretRef>();
    Optional<Assignment> assigned = part.assigned().filter(one -> one.removing().isEmpty());
    if (assigned.isPresent() && part.file().isPresent()) {
      part.file()
          .get()
          .services()
          .forEach(
              (name, service) -> {
                if (runs(assigned.get(), name) || part.jobs().contains(name)) {
                  references.addAll(references(service));
                }
              });
    }
    part.desired().ifPresent(spec -> references.addAll(users(spec)));
    var needed = new TreeSet<SecretId>();
    references.forEach(one -> find(deployment, one, exists).ifPresent(needed::add));
    return needed;
  }

  /** In whatever role. */
  private static boolean runs(Assignment assigned, String service) {
    return assigned.groups(service).stream().anyMatch(one -> !assigned.numbers(one).isEmpty());
  }

  /** A deployment sees its own secrets first, then those of all deployments. */
  private static Optional<SecretId> find(
      String deployment, SecretRef reference, Predicate<SecretId> exists) {
    return switch (reference.scope()) {
      case SecretRef.OfDeployment() ->
          Optional.of(SecretId.of(deployment, reference.name()))
              .filter(exists)
              .or(() -> Optional.of(SecretId.global(reference.name())).filter(exists));
      case SecretRef.OfService(String service) ->
          Optional.of(SecretId.of(deployment, service, reference.name())).filter(exists);
      case SecretRef.OfEnvironment _ -> Optional.empty();
    };
  }

  /** The services and jobs of a file that refer to secrets. */
  static Set<String> using(DeploymentSpec spec) {
    var using = new TreeSet<String>();
    spec.services()
        .forEach(
            (name, service) -> {
              if (!references(service).isEmpty()) {
                using.add(name);
              }
            });
    return using;
  }

  /** All that a service refers to, wherever its file can name a secret. */
  static Set<SecretRef> references(ServiceSpec service) {
    var found = new LinkedHashSet<SecretRef>();
    collect(service, found);
    return found;
  }

  private static void collect(Object value, Set<SecretRef> found) {
    switch (value) {
      case SecretRef reference -> found.add(reference);
      case Record record -> {
        for (RecordComponent component : record.getClass().getRecordComponents()) {
          collect(part(record, component), found);
        }
      }
      case Optional<?> optional -> optional.ifPresent(inner -> collect(inner, found));
      case Collection<?> all -> all.forEach(inner -> collect(inner, found));
      case Map<?, ?> map -> map.values().forEach(inner -> collect(inner, found));
      default -> {} // a text, a number
    }
  }

  private static Object part(Record record, RecordComponent component) {
    try {
      return component.getAccessor().invoke(record);
    } catch (ReflectiveOperationException e) {
      throw new AgentException.Internal("cannot read " + component, e);
    }
  }

  /** The secrets of {@code basic_auth}. */
  static Set<SecretRef> users(DeploymentSpec spec) {
    var found = new LinkedHashSet<SecretRef>();
    spec.services()
        .values()
        .forEach(
            service ->
                service
                    .networking()
                    .endpoints()
                    .forEach(
                        endpoint ->
                            endpoint
                                .route()
                                .policy()
                                .basicAuth()
                                .map(SecretRef::parse)
                                .ifPresent(found::add)));
    return found;
  }
}
