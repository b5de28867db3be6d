package dev.zlayer.cli;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/**
 * Runs the command lines that it reads from standard input, one per line and words between blanks,
 * as this process would run each of them, so that the AOT cache made from this run holds the
 * classes that they need. None of them has to succeed.
 */
final class Training {
  static final String FLAG = "--train-aot";

  /** Before a line: without variables, as most people have none of ours. */
  private static final String BARE = "bare ";

  /**
   * What a start with a cache needs and this run has in another way: it would be read from disk.
   */
  private static final String STARTED_ONLY = "java.lang.invoke.DirectMethodHandle$1";

  private Training() {}

  static void run() {
    List<String> lines;
    try {
      lines = new String(System.in.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    for (String line : lines) {
      Session session = Session.ofThisProcess();
      boolean bare = line.startsWith(BARE);
      String[] words = (bare ? line.substring(BARE.length()) : line).strip().split(" +");
      Main.prepare(words);
      int code = Main.run(bare ? session.withEnv(Map.of()) : session, words);
      System.err.println(code + " " + line);
    }
    try {
      Class<?> _ = Class.forName(STARTED_ONLY, true, ClassLoader.getPlatformClassLoader());
    } catch (ClassNotFoundException e) {
      System.err.println("not in this Java: " + e.getMessage());
    }
  }
}
