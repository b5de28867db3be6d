package dev.zlayer.engine.job;

import dev.zlayer.error.AgentException;
import java.util.regex.Pattern;

/**
 * Names one execution: 26 letters and digits that begin with the time, so that later ones sort
 * behind earlier ones.
 */
public record ExecutionId(String text) implements Comparable<ExecutionId> {
  private static final Pattern FORM = Pattern.compile("[0-9a-hjkmnp-tv-z]{26}");

  /** Whether it looks like one. */
  static boolean fits(String text) {
    return FORM.matcher(text).matches();
  }

  public static ExecutionId parse(String text) {
    if (!fits(text)) {
      throw new AgentException.InvalidSpec(
          "'%s' is not the id of an execution, write one as 'job history' shows it"
              .formatted(text));
    }
    return new ExecutionId(text);
  }

  @Override
  public int compareTo(ExecutionId other) {
    return text.compareTo(other.text);
  }

  @Override
  public String toString() {
    return text;
  }
}
