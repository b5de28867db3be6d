package dev.zlayer.engine.health;

/** What one check found; {@code output} is for people. */
public record ProbeResult(boolean success, String output) {
  private static final int LONGEST = 2000;

  public ProbeResult {
    output = output.length() <= LONGEST ? output : output.substring(0, LONGEST) + "...";
  }

  public static ProbeResult good(String output) {
    return new ProbeResult(true, output);
  }

  public static ProbeResult bad(String output) {
    return new ProbeResult(false, output);
  }
}
