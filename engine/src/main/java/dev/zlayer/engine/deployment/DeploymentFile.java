package dev.zlayer.engine.deployment;

import dev.zlayer.error.AgentException;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.problem.Problem;
import dev.zlayer.spec.read.SpecReader;
import dev.zlayer.spec.read.SpecResult;
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
    String shown = name.orElse("deployment") + ".zlayer.yml";
    return switch (SpecReader.read(shown, file)) {
      case SpecResult.Invalid(var problems) -> throw new AgentException.InvalidSpec(text(problems));
      case SpecResult.Valid(var spec, _, var notHonoured) -> {
        if (!notHonoured.isEmpty()) {
          throw new AgentException.Unsupported(text(notHonoured));
        }
        requireName(name, spec);
        yield spec;
      }
    };
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
