package dev.zlayer.engine.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What every store keeps to. */
abstract class StateStoreContract {
  private static final Instant TIME = Instant.parse("2026-03-01T10:00:00.123456789Z");

  StateStore store;

  abstract StateStore open(StoreConfig config);

  @BeforeEach
  void openStore() {
    store = open(StoreConfig.DEFAULT);
  }

  @AfterEach
  void closeStore() {
    store.close();
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static Event event(String kind, String subject) {
    return new Event(TIME, kind, subject, Json.object().put("a", 1).build());
  }

  @Test
  void findsWhatWasPutAndNothingElse() {
    store.commit(Change.of(new Change.Put("job", "a", bytes("1"))));

    assertThat(store.find("job", "a")).hasValueSatisfying(v -> assertThat(v).isEqualTo(bytes("1")));
    assertThat(store.find("job", "b")).isEmpty();
    assertThat(store.find("cron", "a")).isEmpty();
  }

  @Test
  void laterWritesOfOneChangeWin() {
    store.commit(
        Change.of(
            new Change.Put("job", "a", bytes("1")),
            new Change.Put("job", "a", bytes("2")),
            new Change.Put("job", "b", bytes("1")),
            new Change.Delete("job", "b"),
            new Change.Delete("job", "never there")));

    assertThat(store.list("job")).extracting(StateStore.Entry::key).containsExactly("a");
    assertThat(store.find("job", "a").orElseThrow()).isEqualTo(bytes("2"));
  }

  @Test
  void listsOneKindInTheOrderOfKeys() {
    for (String key : List.of("b", "a/2", "c", "a", "A", "")) {
      store.commit(Change.of(new Change.Put("job", key, bytes(key))));
    }
    store.commit(Change.of(new Change.Put("jobs", "x", bytes("x"))));

    assertThat(store.list("job"))
        .extracting(StateStore.Entry::key)
        .containsExactly("", "A", "a", "a/2", "b", "c");
  }

  @Test
  void listsTheKeysWithAPrefixAndNoOthers() {
    for (String key :
        List.of("shop/1", "shop/2", "shop", "shopping/1", "sho/1", "shop/\uD83D\uDE00")) {
      store.commit(Change.of(new Change.Put("revision", key, bytes(key))));
    }
    store.commit(Change.of(new Change.Put("other", "shop/3", bytes("x"))));

    assertThat(store.keys("revision", "shop/"))
        .containsExactly("shop/1", "shop/2", "shop/\uD83D\uDE00");
    assertThat(store.list("revision", "shop/1"))
        .singleElement()
        .satisfies(entry -> assertThat(entry.value()).isEqualTo(bytes("shop/1")));
    assertThat(store.keys("revision", "")).hasSize(6);
    assertThat(store.keys("revision", "nothing")).isEmpty();
  }

  @Test
  void callersBytesAreCopied() {
    byte[] value = bytes("one");
    store.commit(Change.of(new Change.Put("job", "a", value)));
    value[0] = 'X';
    store.find("job", "a").orElseThrow()[1] = 'X';

    assertThat(store.find("job", "a").orElseThrow()).isEqualTo(bytes("one"));
  }

  @Test
  void eventsAreNumberedFromOneAndReadBackExactly() {
    assertThat(store.commit(Change.of(event("job.pending", "x"), event("job.running", "x"))))
        .isEqualTo(2);
    assertThat(store.commit(Change.of(new Change.Put("job", "a", bytes("1"))))).isEqualTo(2);
    assertThat(store.commit(Change.of(event("job.pending", "y")))).isEqualTo(3);

    EventPage page = store.events(1, 10);
    assertThat(page.missed()).isFalse();
    assertThat(page.events())
        .containsExactly(
            new EventPage.Numbered(2, event("job.running", "x")),
            new EventPage.Numbered(3, event("job.pending", "y")));
    assertThat(store.events(0, 1).events()).hasSize(1);
    assertThat(store.events(0, Optional.of("y"), 10).events())
        .extracting(EventPage.Numbered::sequence)
        .containsExactly(3L);
    assertThat(store.events(3, 10).events()).isEmpty();
    assertThat(store.events(3, 10).last()).isEqualTo(3);
  }

  @Test
  void onlyTheNewestEventsAreKeptAndTheReaderIsTold() {
    try (StateStore small = open(StoreConfig.DEFAULT.withEvents(10))) {
      for (int i = 0; i < 100; i++) {
        small.commit(Change.of(event("tick", "t" + i)));
      }

      EventPage page = small.events(0, 1000);
      assertThat(page.missed()).isTrue();
      assertThat(page.events()).hasSizeBetween(10, 11);
      assertThat(page.events().getLast().sequence()).isEqualTo(100);
      assertThat(page.oldest()).isEqualTo(page.events().getFirst().sequence());
      assertThat(small.events(page.oldest() - 1, 10).missed()).isFalse();
      assertThat(small.events(page.oldest() - 2, 10).missed()).isTrue();
      assertThat(small.events(99, 10).missed()).isFalse();
    }
  }

  @Test
  void aNumberOfAnotherLogIsNotWaitedFor() {
    store.commit(Change.of(event("tick", "a"), event("tick", "b")));

    assertThat(store.events(2, 10).missed()).isFalse();
    EventPage ahead = store.events(7, 10);
    assertThat(ahead.missed()).isTrue();
    assertThat(ahead.last()).isEqualTo(2);
  }

  @Test
  void waitsForTheNextEvent() throws InterruptedException {
    assertThat(store.awaitEvent(0, Deadline.after(Duration.ofMillis(5)))).isFalse();

    try (var scope = new TaskScope("wait")) {
      var woken = scope.fork(() -> store.awaitEvent(0, Deadline.after(Duration.ofSeconds(30))));
      store.commit(Change.of(event("tick", "t")));
      scope.join();
      assertThat(woken.result()).isTrue();
    }
    assertThat(store.awaitEvent(0, Deadline.none())).isTrue();
  }

  @Test
  void changesOfManyThreadsAreAllThere() throws InterruptedException {
    try (var scope = new TaskScope("writers")) {
      for (int t = 0; t < 16; t++) {
        String writer = "w%02d".formatted(t);
        scope.fork(
            () -> {
              for (int i = 0; i < 50; i++) {
                String key = writer + "/%02d".formatted(i);
                store.commit(
                    new Change(
                        List.of(new Change.Put("job", key, bytes(key))),
                        List.of(event("put", key))));
                assertThat(store.find("job", key)).isPresent();
              }
              return true;
            });
      }
      scope.join();
    }

    assertThat(store.list("job")).hasSize(800);
    assertThat(store.events(0, 1000).events())
        .extracting(EventPage.Numbered::sequence)
        .containsExactlyElementsOf(IntStream.rangeClosed(1, 800).mapToObj(n -> (long) n).toList());
  }

  @Test
  void anInterruptedCallerStillLearnsTheOutcome() {
    Thread.currentThread().interrupt();
    try {
      store.commit(Change.of(new Change.Put("job", "a", bytes("1"))));
      assertThat(store.find("job", "a")).isPresent();
    } finally {
      assertThat(Thread.interrupted()).isTrue();
    }
  }

  @Test
  void refusesEverythingOnceClosed() {
    store.close();
    store.close();

    assertThatThrownBy(() -> store.find("job", "a"))
        .isInstanceOf(AgentException.Internal.class)
        .hasMessage("the state store is closed");
    assertThatThrownBy(() -> store.commit(Change.of(new Change.Delete("job", "a"))))
        .isInstanceOf(AgentException.Internal.class);
    assertThatThrownBy(() -> store.events(0, 1)).isInstanceOf(AgentException.Internal.class);
  }
}
