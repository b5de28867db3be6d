package dev.zlayer.daemon.log;

import java.util.Map;
import java.util.Optional;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogManager;
import java.util.logging.LogRecord;
import java.util.logging.SimpleFormatter;

/** Leads what parts of ours and of the JDK tell through {@code System.Logger} to our own log. */
public final class JavaLog extends Handler {
  private final Log target;
  private final SimpleFormatter formatter = new SimpleFormatter();

  private JavaLog(Log target) {
    this.target = target;
  }

  /** For the process that serves; a program that embeds the agent keeps its own. */
  public static void install(Log log) {
    LogManager.getLogManager().reset();
    LogManager.getLogManager().getLogger("").addHandler(new JavaLog(log));
  }

  @Override
  public void publish(LogRecord line) {
    target.write(
        level(line.getLevel()),
        formatter.formatMessage(line),
        Map.of("from", String.valueOf(line.getLoggerName())),
        Optional.ofNullable(line.getThrown()));
  }

  private static Log.Level level(Level level) {
    if (level.intValue() >= Level.SEVERE.intValue()) {
      return Log.Level.ERROR;
    }
    if (level.intValue() >= Level.WARNING.intValue()) {
      return Log.Level.WARN;
    }
    return level.intValue() >= Level.INFO.intValue() ? Log.Level.INFO : Log.Level.DEBUG;
  }

  @Override
  public void flush() {}

  @Override
  public void close() {}
}
