package dev.zlayer.spec.read;

import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.problem.Problem;
import java.util.List;
import java.util.stream.Stream;

/** What became of a deployment file. */
public sealed interface SpecResult {
  /**
   * The file can be used.
   *
   * @param warnings what is probably not meant
   * @param notHonoured what is accepted but not acted on; deploying must refuse these
   */
  record Valid(DeploymentSpec spec, List<Problem> warnings, List<Problem> notHonoured)
      implements SpecResult {
    /** Both kinds in the order of the file, for people. */
    public List<Problem> remarks() {
      return Stream.concat(warnings.stream(), notHonoured.stream())
          .sorted(Problem.BY_POSITION)
          .toList();
    }
  }

  /** The file must be corrected; problems in the order of the file, at least one. */
  record Invalid(List<Problem> problems) implements SpecResult {}
}
