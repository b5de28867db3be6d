package dev.zlayer.daemon.log;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogManager;
import java.util.logging.LogRecord;
import java.util.logging.SimpleFormatter;

/** Leads what parts of ours and of the JDK tell through {@code System.Logger} to our own log. */
public final class JavaLog extends Handler {
  private static volatile Log next = Log.silent();

  private final Log target;
  private final SimpleFormatter formatter = new SimpleFormatter();

  /** Made by Java, by its name; see {@link #prepare}. */
  public JavaLog() {
    this(next);
  }

  private JavaLog(Log target) {
    this.target = target;
  }

  /** Made by Java when something logs for the first time. */
  public static final class Configuration {
    public Configuration() throws IOException {
      String text = "handlers=%s\n.level=INFO\n".formatted(JavaLog.class.getName());
      LogManager.getLogManager()
          .readConfiguration(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
    }
  }

  /**
   * For the process that serves; a program that embeds the agent keeps its own. Java does it when
   * there is something to log: it would search every jar for others who log, while all wait.
   */
  public static void prepare(Log log) {
    next = log;
    System.setProperty("java.util.logging.config.class", Configuration.class.getName());
  }

  /** The same at once, also in a process that has logged before. */
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
