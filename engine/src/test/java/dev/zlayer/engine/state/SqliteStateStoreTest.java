package dev.zlayer.engine.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SqliteStateStoreTest extends StateStoreContract {
  @TempDir Path directory;
  private int stores;

  @Override
  StateStore open(StoreConfig config) {
    return SqliteStateStore.open(directory.resolve("state%d.db".formatted(stores++)), config);
  }

  @Test
  void whatWasCommittedIsThereAfterOpeningAgain() {
    Path file = directory.resolve("again.db");
    try (var first = SqliteStateStore.open(file, StoreConfig.DEFAULT.withEvents(5))) {
      first.commit(Change.of(new Change.Put("job", "a", bytes("1"))));
      for (int i = 0; i < 50; i++) {
        first.commit(Change.of(event("tick", "t" + i)));
      }
    }

    try (var second = SqliteStateStore.open(file, StoreConfig.DEFAULT.withEvents(5))) {
      assertThat(second.find("job", "a").orElseThrow()).isEqualTo(bytes("1"));
      assertThat(second.commit(Change.of(event("tick", "next")))).isEqualTo(51);
      assertThat(second.events(0, 10).missed()).isTrue();
    }
  }

  @Test
  void aRowThatCannotBeReadHoldsUpNobody() throws SQLException {
    Path file = directory.resolve("spoiled.db");
    try (var spoiled = SqliteStateStore.open(file, StoreConfig.DEFAULT)) {
      spoiled.commit(Change.of(new Change.Put("job", "a", bytes("1"))));
      spoiled.commit(Change.of(event("tick", "t")));
      try (var connection = DriverManager.getConnection("jdbc:sqlite:" + file);
          var statement = connection.createStatement()) {
        statement.executeUpdate("UPDATE event SET at = 'no time'");
      }

      for (int i = 0; i < 10; i++) {
        assertThatThrownBy(() -> spoiled.events(0, 10))
            .isInstanceOf(AgentException.Internal.class)
            .hasMessageContaining("DateTimeParseException");
      }
      assertThat(spoiled.find("job", "a").orElseThrow()).isEqualTo(bytes("1"));
      assertThat(spoiled.commit(Change.of(event("tick", "t")))).isEqualTo(2);
    }
  }

  /** Some are made while one list is read: they would have to wait for its end otherwise. */
  @Test
  void commitsDoNotWaitForReaders() throws InterruptedException {
    for (int i = 0; i < 64; i++) {
      var rows = new ArrayList<Change.Write>();
      for (int row = 0; row < 256; row++) {
        rows.add(new Change.Put("large", "%03d/%03d".formatted(i, row), new byte[2048]));
      }
      store.commit(new Change(rows, List.of()));
    }
    var made = new AtomicInteger();
    var ended = new AtomicBoolean();
    int most = 0;
    try (var scope = new TaskScope("commits")) {
      scope.fork(
          () -> {
            while (!ended.get()) {
              store.commit(Change.of(new Change.Put("small", "k", bytes("v"))));
              made.incrementAndGet();
            }
            return true;
          });
      for (int reading = 0; reading < 50 && most < 3; reading++) {
        int before = made.get();
        assertThat(store.list("large")).hasSize(64 * 256);
        most = Math.max(most, made.get() - before);
      }
      ended.set(true);
      scope.join();
    }
    assertThat(most).as("commits within one reading").isGreaterThanOrEqualTo(3);
  }

  @Test
  void aChangeThatCannotBeWrittenSpoilsNoOther() throws InterruptedException {
    int others = 200;
    try (var scope = new TaskScope("commits")) {
      for (int i = 0; i < others; i++) {
        String key = "k" + i;
        scope.fork(() -> store.commit(Change.of(new Change.Put("job", key, bytes(key)))));
        scope.fork(
            () -> {
              assertThatThrownBy(() -> store.commit(Change.of(unprintable())))
                  .isInstanceOf(AgentException.Internal.class)
                  .hasMessageContaining("OutOfMemoryError: injected");
              return true;
            });
      }
      scope.join();
    }
    assertThat(store.list("job")).hasSize(others);
    assertThat(store.events(0, 10).events()).isEmpty();
  }

  /** An event whose detail fails when it is written. */
  private static Event unprintable() {
    var number =
        new BigDecimal("1.5") {
          @Override
          public String toString() {
            throw new OutOfMemoryError("injected");
          }

          @Override
          public String toPlainString() {
            throw new OutOfMemoryError("injected");
          }
        };
    return new Event(Instant.EPOCH, "tick", "bad", new Json.Num(number));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void opensAStoreOfEveryVersion(int version) throws IOException {
    Path file = directory.resolve("old.db");
    try (InputStream fixture =
        Objects.requireNonNull(
            getClass().getResourceAsStream("/state/v%d.db".formatted(version)))) {
      Files.copy(fixture, file);
    }

    try (var migrated = SqliteStateStore.open(file, StoreConfig.DEFAULT)) {
      assertThat(migrated.list("job"))
          .extracting(StateStore.Entry::key)
          .containsExactly("first", "second");
      assertThat(migrated.find("job", "second").orElseThrow()).isEqualTo(bytes("{\"n\":2}"));
      assertThat(migrated.events(0, java.util.Optional.of("second"), 10).events())
          .extracting(EventPage.Numbered::sequence)
          .containsExactly(2L);
      assertThat(migrated.commit(Change.of(event("after", "first")))).isEqualTo(4);
    }
  }

  @Test
  void everyVersionHasItsFixture() {
    assertThat(getClass().getResource("/state/v%d.db".formatted(SqliteSchema.VERSION)))
        .as("a new version needs a store written by it: run WriteFixture")
        .isNotNull();
  }

  @Test
  void leavesANewerStoreAsItIs() throws Exception {
    Path file = directory.resolve("newer.db");
    SqliteStateStore.open(file, StoreConfig.DEFAULT).close();
    execute(file, "PRAGMA user_version = 99");
    byte[] before = Files.readAllBytes(file);

    assertThatThrownBy(() -> SqliteStateStore.open(file, StoreConfig.DEFAULT))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining(file.toString())
        .hasMessageContaining("has version 99")
        .hasMessageContaining("start the newer program again");
    assertThat(Files.readAllBytes(file)).isEqualTo(before);
  }

  @Test
  void leavesADatabaseOfAnotherProgramAsItIs() throws Exception {
    Path file = directory.resolve("foreign.db");
    execute(file, "CREATE TABLE photos (name TEXT)");
    byte[] before = Files.readAllBytes(file);

    assertThatThrownBy(() -> SqliteStateStore.open(file, StoreConfig.DEFAULT))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("of another program");
    assertThat(Files.readAllBytes(file)).isEqualTo(before);
  }

  @Test
  void saysThatAFileIsNoDatabase() throws IOException {
    Path file = directory.resolve("text.db");
    Files.writeString(file, "this was never a database, whatever its name says\n".repeat(100));

    assertThatThrownBy(() -> SqliteStateStore.open(file, StoreConfig.DEFAULT))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("damaged");
  }

  @Test
  void refusesWhatDoesNotFitAndGoesOnWhenThereIsSpaceAgain() {
    Path file = directory.resolve("small.db");
    StoreConfig small = StoreConfig.DEFAULT.withBytes(256 << 10);
    byte[] block = new byte[16 << 10];
    List<String> kept = new ArrayList<>();
    try (var store = SqliteStateStore.open(file, small)) {
      assertThatThrownBy(
              () -> {
                for (int i = 0; i < 100; i++) {
                  String key = "block%03d".formatted(i);
                  store.commit(Change.of(new Change.Put("log", key, block)));
                  kept.add(key);
                }
              })
          .isInstanceOf(AgentException.Configuration.class)
          .hasMessageContaining("no space is left")
          .hasMessageContaining(file.toString());

      assertThat(kept).hasSizeGreaterThan(5);
      assertThat(store.list("log"))
          .extracting(StateStore.Entry::key)
          .containsExactlyElementsOf(kept);

      store.commit(Change.of(new Change.Delete("log", kept.getFirst())));
      store.commit(Change.of(new Change.Put("log", "fits", block)));
    }

    try (var again = SqliteStateStore.open(file, small)) {
      assertThat(again.list("log")).hasSize(kept.size());
      assertThat(again.find("log", "fits").orElseThrow()).isEqualTo(block);
    }
  }

  private static void execute(Path file, String sql) throws SQLException {
    try (var connection = DriverManager.getConnection("jdbc:sqlite:" + file);
        var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
