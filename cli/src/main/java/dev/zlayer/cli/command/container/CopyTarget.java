package dev.zlayer.cli.command.container;

import dev.zlayer.cli.client.Target;

/** A place to copy from or to. */
sealed interface CopyTarget {
  /** Inside a container. */
  record Inside(Target container, String path) implements CopyTarget {}

  /** On this machine; {@code -} is standard input or output. */
  record Here(String path) implements CopyTarget {
    boolean stream() {
      return path.equals("-");
    }
  }

  /** A colon makes it inside, unless the text begins like a path. */
  static CopyTarget parse(String text) {
    int colon = text.indexOf(':');
    if (colon <= 0 || text.startsWith("/") || text.startsWith(".")) {
      return new Here(text);
    }
    String path = text.substring(colon + 1);
    return new Inside(
        Target.parse(text.substring(0, colon)), path.startsWith("/") ? path : "/" + path);
  }
}
