package dev.zlayer.task;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

class LazyLoggerTest {
  private final List<LogRecord> told = new ArrayList<>();

  @Test
  void whatIsToldReachesTheLoggerOfTheClass() {
    var handler =
        new Handler() {
          @Override
          public void publish(LogRecord line) {
            told.add(line);
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    Logger target = Logger.getLogger(LazyLoggerTest.class.getName());
    target.setUseParentHandlers(false);
    target.addHandler(handler);
    try {
      System.Logger logger = LazyLogger.of(LazyLoggerTest.class);
      var thrown = new IllegalStateException("why");
      logger.log(System.Logger.Level.WARNING, "first {0}", "one");
      logger.log(System.Logger.Level.ERROR, "second", thrown);
      logger.log(System.Logger.Level.TRACE, "too little");

      assertThat(told).extracting(LogRecord::getMessage).containsExactly("first {0}", "second");
      assertThat(told.getFirst().getParameters()).containsExactly("one");
      assertThat(told.getLast().getThrown()).isSameAs(thrown);
    } finally {
      target.removeHandler(handler);
    }
  }
}
