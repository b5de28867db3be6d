package dev.zlayer.cli.command.run;

/**
 * Sets the fields of the verbs of this package. A distribution has another class in this place,
 * made by {@code FieldSource}, which does so without reflection: the handles that the first field
 * of a process needs take longer than all other arguments.
 */
public final class BoundFields {
  private BoundFields() {}

  /** Whether it is set; else somebody has to find the field. */
  public static boolean set(String path, Object command, Object value) {
    return false;
  }
}
