package dev.zlayer.engine.deployment;

import dev.zlayer.error.AgentException;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.problem.Problem;
import dev.zlayer.spec.read.SpecReader;
import dev.zlayer.spec.read.SpecResult;
import dev.zlayer.spec.read.UnsupportedKeys;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** Reads deployment files for the engine, which takes only what it can make true. */
final class DeploymentFile {
  private DeploymentFile() {}

  /**
   * Reads a file.
   *
   * @throws AgentException.InvalidSpec all problems, one per line
   * @throws AgentException.Unsupported fields that nothing acts on are written in it
   */
  static DeploymentSpec read(Optional<String> name, byte[] file) {
    return read(name, file, Optional.empty());
  }

  /** The file of a revision, with the part of it alone that runs here. */
  static DeploymentSpec read(Revision revision) {
    return read(Optional.of(revision.deployment()), revision.bytes(), revision.share());
  }

  static DeploymentSpec read(Optional<String> name, byte[] file, Optional<Share> share) {
    String shown = name.orElse("deployment") + ".zlayer.yml";
    return switch (SpecReader.read(shown, file)) {
      case SpecResult.Invalid(var problems) -> throw new AgentException.InvalidSpec(text(problems));
      case SpecResult.Valid(var spec, _, var notHonoured) -> {
        List<Problem> refused =
            share.isEmpty()
                ? notHonoured
                : notHonoured.stream().filter(one -> !UnsupportedKeys.needsCluster(one)).toList();
        if (!refused.isEmpty()) {
          throw new AgentException.Unsupported(text(refused));
        }
        requireName(name, spec);
        yield share.map(part -> reduced(spec, part)).orElse(spec);
      }
    };
  }

  /**
   * Services without replicas here are none of this node, and those that depend on them were
   * started by the cluster in that order. Jobs are all here: the cluster says when they run.
   */
  private static DeploymentSpec reduced(DeploymentSpec spec, Share share) {
    var services = new LinkedHashMap<String, ServiceSpec>();
    spec.services()
        .forEach(
            (name, service) -> {
              Optional<ServiceSpec> here =
                  service.rtype() == RunType.SERVICE
                      ? share.of(name, service)
                      : Optional.of(service.withoutNeeds());
              here.ifPresent(
                  part ->
                      services.put(name, part.with(part.lifecycle().withoutDepends()).placed()));
            });
    return new DeploymentSpec(
        spec.version(), spec.deployment(), services, spec.externals(), spec.tunnels(), spec.api());
  }

  private static void requireName(Optional<String> name, DeploymentSpec spec) {
    if (name.isPresent() && !name.get().equals(spec.deployment())) {
      throw new AgentException.InvalidSpec(
          "deployment: the file names '%s' and was sent for '%s', write the same name"
              .formatted(spec.deployment(), name.get()));
    }
  }

  private static String text(List<Problem> problems) {
    return problems.stream().map(Problem::toString).collect(Collectors.joining("\n"));
  }

  /** An image that is to be the newest may have changed though the file has not. */
  static boolean asksForNewest(DeploymentSpec spec) {
    return spec.services().values().stream()
        .map(service -> service.image().pullPolicy())
        .anyMatch(policy -> policy == PullPolicy.ALWAYS || policy == PullPolicy.NEWER);
  }
}
