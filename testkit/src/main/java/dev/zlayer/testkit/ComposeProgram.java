package dev.zlayer.testkit;

import java.nio.file.Path;

/** Docker's compose, as {@code tools/packages.sh} fetches it. */
public final class ComposeProgram {
  private ComposeProgram() {}

  public static Path path() {
    return Path.of(System.getProperty("user.home"), ".cache", "zlayer", "docker-compose");
  }
}
