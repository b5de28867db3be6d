package dev.zlayer.task;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ThreadsTest {
  private final List<String> done = new ArrayList<>();

  @AfterEach
  void forget() {
    boolean _ = Thread.interrupted();
  }

  /** As whoever has left is noticed twice: before it begins and in the middle of it. */
  @Test
  void workIsCompletedHoweverAnInterruptIsReported() throws Exception {
    List<Exception> reports =
        List.of(
            new InterruptedException(),
            new InterruptedIOException(),
            new ClosedByInterruptException());
    for (Exception report : reports) {
      Thread.currentThread().interrupt();
      Threads.<Exception>complete(
          () -> {
            done.add("begun");
            if (done.size() == 1) {
              assertThat(Thread.currentThread().isInterrupted()).isFalse();
              if (report instanceof IOException) {
                Thread.currentThread().interrupt(); // the flag stays with these
              }
              throw report;
            }
          });
      assertThat(done).hasSize(2);
      assertThat(Thread.interrupted()).isTrue();
      done.clear();
    }
  }

  @Test
  void aFailureIsNotRepeated() {
    assertThatThrownBy(
            () ->
                Threads.<IOException>complete(
                    () -> {
                      done.add("begun");
                      throw new InterruptedIOException("timed out"); // nobody interrupted
                    }))
        .hasMessage("timed out");
    assertThat(done).hasSize(1);
    assertThat(Thread.interrupted()).isFalse();
  }
}
