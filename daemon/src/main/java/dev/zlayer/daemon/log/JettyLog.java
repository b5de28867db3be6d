package dev.zlayer.daemon.log;

import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.ILoggerFactory;
import org.slf4j.IMarkerFactory;
import org.slf4j.Marker;
import org.slf4j.event.Level;
import org.slf4j.helpers.AbstractLogger;
import org.slf4j.helpers.BasicMarkerFactory;
import org.slf4j.helpers.MessageFormatter;
import org.slf4j.helpers.NOPMDCAdapter;
import org.slf4j.spi.MDCAdapter;
import org.slf4j.spi.SLF4JServiceProvider;

/**
 * Leads what libraries log to our own log: warnings and errors only, since what a library finds
 * worth telling otherwise is of no use to an operator. It is chosen by name when the process
 * serves, so that a program that embeds the agent keeps its own.
 */
public final class JettyLog implements SLF4JServiceProvider {
  private static volatile Log target = Log.silent();

  private final IMarkerFactory markers = new BasicMarkerFactory();
  private final ILoggerFactory loggers = Forwarding::new;

  /** Called before any library logs. */
  public static void install(Log log) {
    target = log;
    System.setProperty("slf4j.provider", JettyLog.class.getName());
    System.setProperty("slf4j.internal.verbosity", "WARN");
  }

  @Override
  public ILoggerFactory getLoggerFactory() {
    return loggers;
  }

  @Override
  public IMarkerFactory getMarkerFactory() {
    return markers;
  }

  @Override
  public MDCAdapter getMDCAdapter() {
    return new NOPMDCAdapter();
  }

  @Override
  public String getRequestedApiVersion() {
    return "2.0.99";
  }

  @Override
  public void initialize() {}

  private static final class Forwarding extends AbstractLogger {
    Forwarding(String name) {
      this.name = name;
    }

    @Override
    protected @Nullable String getFullyQualifiedCallerName() {
      return null;
    }

    @Override
    protected void handleNormalizedLoggingCall(
        Level level,
        @Nullable Marker marker,
        String pattern,
        Object @Nullable [] arguments,
        @Nullable Throwable thrown) {
      target.write(
          level == Level.ERROR ? Log.Level.ERROR : Log.Level.WARN,
          MessageFormatter.basicArrayFormat(pattern, arguments),
          Map.of("library", name),
          Optional.ofNullable(thrown));
    }

    @Override
    public boolean isTraceEnabled() {
      return false;
    }

    @Override
    public boolean isTraceEnabled(Marker marker) {
      return false;
    }

    @Override
    public boolean isDebugEnabled() {
      return false;
    }

    @Override
    public boolean isDebugEnabled(Marker marker) {
      return false;
    }

    @Override
    public boolean isInfoEnabled() {
      return false;
    }

    @Override
    public boolean isInfoEnabled(Marker marker) {
      return false;
    }

    @Override
    public boolean isWarnEnabled() {
      return target.tells(Log.Level.WARN);
    }

    @Override
    public boolean isWarnEnabled(Marker marker) {
      return isWarnEnabled();
    }

    @Override
    public boolean isErrorEnabled() {
      return true;
    }

    @Override
    public boolean isErrorEnabled(Marker marker) {
      return true;
    }
  }
}
