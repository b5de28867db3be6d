package dev.zlayer.spec.check;

import dev.zlayer.spec.problem.Problems;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.yaml.YamlNode;
import java.net.URI;
import java.net.URISyntaxException;
import java.time.Duration;
import java.util.Locale;

/** Where the rules report to; knows the written text, so that findings have places. */
public final class Findings {
  private static final int LAST_PORT = 65_535;
  private static final SpecPath.Step WASM = new SpecPath.Key("wasm");

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

  /** A value, as opposed to a key, that nothing acts on yet; one line for each place. */
  void notHonoured(SpecPath path, String reason) {
    SpecPath place = written(path) ? path : renamed(path);
    if (notHonoured.clean(place)) {
      notHonoured.add(root.locate(place), place, reason);
    }
  }

  /** The settings of WebAssembly have two names; findings show the one that is written. */
  private SpecPath renamed(SpecPath path) {
    var renamed =
        new SpecPath(
            path.steps().stream()
                .map(step -> step.equals(WASM) ? new SpecPath.Key("wasm_http") : step)
                .toList());
    return written(renamed) ? renamed : path;
  }

  /** Whether the value at the path could be read, so that it is worth comparing with others. */
  boolean clean(SpecPath path) {
    return problems.clean(path);
  }

  /** Whether the key is in the file, as opposed to standing for its default. */
  boolean written(SpecPath path) {
    return root.holds(path);
  }

  /** An address that a request can be sent to. */
  void address(SpecPath path, String url) {
    try {
      var address = new URI(url);
      if (address.getHost() == null) {
        problem(path, "'%s' names no host, write one such as localhost".formatted(url));
      } else if (address.getPort() > LAST_PORT) {
        problem(path, "port %d is above 65535".formatted(address.getPort()));
      }
    } catch (URISyntaxException e) {
      String reason = e.getReason().toLowerCase(Locale.ROOT);
      String where = e.getIndex() < 0 ? "" : " '" + url.charAt(e.getIndex()) + "'";
      problem(
          path,
          "'%s' is not an address: %s%s, write special characters as %%XX"
              .formatted(url, reason, where));
    }
  }

  void positive(SpecPath path, Duration duration) {
    if (duration.isZero()) {
      problem(path, "must be longer than 0, write for example 1s");
    }
  }
}
