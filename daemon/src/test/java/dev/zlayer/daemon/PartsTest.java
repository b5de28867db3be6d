package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.daemon.log.Log;
import dev.zlayer.error.AgentException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class PartsTest {
  private final List<String> closed = new CopyOnWriteArrayList<>();
  private final Parts parts = new Parts(Log.silent());

  private AutoCloseable part(String name) {
    return () -> closed.add(name);
  }

  @Test
  void whatWasBegunTakesItsPlaceWhenItIsAwaited() throws Exception {
    var mayStart = new CountDownLatch(1);
    Parts.Pending<AutoCloseable> begun =
        parts.begin(
            "b",
            () -> {
              mayStart.await();
              return part("b");
            });
    AutoCloseable _ = parts.start("a", () -> part("a"));
    mayStart.countDown();
    AutoCloseable _ = begun.await();
    AutoCloseable _ = parts.start("c", () -> part("c"));

    parts.close();
    assertThat(closed).containsExactly("c", "b", "a");
  }

  @Test
  void aFailureEndsWhatWasBegunToo() throws Exception {
    var started = new CountDownLatch(1);
    Parts.Pending<AutoCloseable> _ =
        parts.begin(
            "b",
            () -> {
              started.countDown();
              return part("b");
            });
    Parts.Pending<AutoCloseable> _ =
        parts.begin(
            "waits for ever",
            () -> {
              new CountDownLatch(1).await();
              return part("never");
            });
    AutoCloseable _ = parts.start("a", () -> part("a"));
    started.await();

    assertThatThrownBy(
            () ->
                parts.start(
                    "c",
                    () -> {
                      throw new AgentException.Configuration("no");
                    }))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessage("no");
    assertThat(closed).containsExactly("b", "a");
  }

  @Test
  void aFailureOfWhatWasBegunIsThatOfItsPart() throws Exception {
    Parts.Pending<AutoCloseable> begun =
        parts.begin(
            "b",
            () -> {
              throw new AgentException.Configuration("no");
            });
    AutoCloseable _ = parts.start("a", () -> part("a"));

    assertThatThrownBy(begun::await)
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessage("no")
        .satisfies(e -> assertThat(e.getSuppressed()[0]).hasMessage("while starting b"));
    assertThat(closed).containsExactly("a");
  }
}
