package dev.zlayer.task;

import java.util.ResourceBundle;
import org.jspecify.annotations.Nullable;

/**
 * A logger of the system that is asked for when there is something to tell: Java opens every jar of
 * the class path to find out who keeps loggers, and most processes never need one.
 */
public final class LazyLogger implements System.Logger {
  private final String name;

  private LazyLogger(String name) {
    this.name = name;
  }

  /** For what this class has to tell. */
  public static System.Logger of(Class<?> source) {
    return new LazyLogger(source.getName());
  }

  /** Those who keep loggers return the same one for a name. */
  private System.Logger logger() {
    return System.getLogger(name);
  }

  @Override
  public String getName() {
    return name;
  }

  @Override
  public boolean isLoggable(Level level) {
    return logger().isLoggable(level);
  }

  @Override
  public void log(
      Level level,
      @Nullable ResourceBundle bundle,
      @Nullable String message,
      @Nullable Throwable thrown) {
    logger().log(level, bundle, message, thrown);
  }

  @Override
  public void log(
      Level level,
      @Nullable ResourceBundle bundle,
      @Nullable String format,
      @Nullable Object @Nullable ... parameters) {
    logger().log(level, bundle, format, parameters);
  }
}
