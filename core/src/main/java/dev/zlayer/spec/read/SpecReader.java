package dev.zlayer.spec.read;

import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.bind.Binder;
import dev.zlayer.spec.check.Checks;
import dev.zlayer.spec.check.Findings;
import dev.zlayer.spec.problem.Problems;
import dev.zlayer.spec.yaml.YamlNode;
import dev.zlayer.spec.yaml.YamlReader;
import java.util.Optional;

/**
 * Reads deployment files in three passes: text to tree, tree to records, rules over the records.
 * Each pass reports all it finds; a later one works on what could be read.
 */
public final class SpecReader {
  private SpecReader() {}

  /**
   * Never throws for bad content, however hostile.
   *
   * @param fileName only used in problems
   */
  public static SpecResult read(String fileName, byte[] content) {
    var problems = new Problems(fileName);
    Optional<YamlNode> root = YamlReader.read(content, problems);
    return root.isEmpty()
        ? new SpecResult.Invalid(problems.sorted())
        : check(fileName, root.get(), problems);
  }

  /** For a tree that was made of several files, or with variables replaced. */
  public static SpecResult read(String fileName, YamlNode root) {
    return check(fileName, root, new Problems(fileName));
  }

  /** The second and the third pass. */
  static SpecResult check(String fileName, YamlNode root, Problems problems) {
    var warnings = new Problems(fileName);
    var notHonoured = new Problems(fileName);
    DeploymentSpec spec = new Binder(root, problems).bind(DeploymentSpec.class);
    Checks.run(spec, new Findings(root, problems, warnings, notHonoured));
    if (!problems.isEmpty()) {
      return new SpecResult.Invalid(problems.sorted());
    }
    UnsupportedKeys.find(root, notHonoured);
    return new SpecResult.Valid(spec, warnings.sorted(), notHonoured.sorted());
  }
}
