package dev.zlayer.runtime.oci.tool;

import java.util.Arrays;
import java.util.Optional;

/**
 * OCI runtimes whose way of keeping containers we know well enough to do simple verbs ourselves.
 */
public enum Dialect {
  /** A created process writes to a pipe, and goes on once somebody reads. */
  RUNC("runc version 1."),
  /** A created process reads from a pipe, and goes on once somebody writes. */
  CRUN("crun version 1.");

  private final String version;

  Dialect(String version) {
    this.version = version;
  }

  static Optional<Dialect> of(OciTool tool) {
    return Arrays.stream(values())
        .filter(dialect -> tool.version().startsWith(dialect.version))
        .findFirst();
  }

  /** Whether a process of that command line is the runtime's own, which waits to be let go. */
  boolean waits(String program, String command) {
    return switch (this) {
      case RUNC -> command.equals(program + " init");
      case CRUN -> command.startsWith(program + " ") && command.contains(" create ");
    };
  }
}
