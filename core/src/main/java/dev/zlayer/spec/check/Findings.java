package dev.zlayer.spec.check;

import dev.zlayer.spec.problem.Problems;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.yaml.YamlNode;
import java.time.Duration;

/** Where the rules report to; knows the written text, so that findings have places. */
public final class Findings {
  private final YamlNode root;
  private final Problems problems;
  private final Problems warnings;
  private final Problems notHonoured;

  public Findings(YamlNode root, Problems problems, Problems warnings, Problems notHonoured) {
    this.root = root;
    this.problems = problems;
    this.warnings = warnings;
    this.notHonoured = notHonoured;
  }

  /** Dropped when something at or below the path is already wrong: one cause, one line. */
  void problem(SpecPath path, String message) {
    if (clean(path)) {
      problems.add(root.locate(path), path, message);
    }
  }

  void warn(SpecPath path, String message) {
    if (clean(path)) {
      warnings.add(root.locate(path), path, message);
    }
  }

  /** A value, as opposed to a key, that nothing acts on yet. */
  void notHonoured(SpecPath path, String reason) {
    notHonoured.add(root.locate(path), path, "accepted, not acted on: " + reason);
  }

  /** Whether the value at the path could be read, so that it is worth comparing with others. */
  boolean clean(SpecPath path) {
    return problems.clean(path);
  }

  /** Whether the key is in the file, as opposed to standing for its default. */
  boolean written(SpecPath path) {
    return root.holds(path);
  }

  void positive(SpecPath path, Duration duration) {
    if (duration.isZero()) {
      problem(path, "must be longer than 0, write for example 1s");
    }
  }
}
