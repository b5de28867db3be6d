package dev.zlayer.cli;

import dev.zlayer.daemon.Version;

/**
 * What is known when the program is built. A distribution has another class in this place, with
 * everything filled in ({@link CommandModel#source}); classes without a distribution find out.
 */
public final class BuildFacts {
  private BuildFacts() {}

  public static String version() {
    return Version.CURRENT.version();
  }

  /** The {@link CommandModel} of a verb; empty when it has none. */
  static String commandModel(String verb) {
    return "";
  }
}
