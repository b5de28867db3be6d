package dev.zlayer.spec.problem;

import java.util.Comparator;

/**
 * One finding in one file. The message says what is wrong and what to write instead.
 *
 * @param path empty when the finding concerns the file as a whole
 */
public record Problem(String file, int line, int column, String path, String message) {
  public static final Comparator<Problem> BY_POSITION =
      Comparator.comparingInt(Problem::line)
          .thenComparingInt(Problem::column)
          .thenComparing(Problem::path);

  /** {@code file:line:column: path: message}, the form that editors and terminals can follow. */
  @Override
  public String toString() {
    String where = file + ":" + line + ":" + column + ": ";
    return path.isEmpty() ? where + message : where + path + ": " + message;
  }
}
