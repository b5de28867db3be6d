package dev.zlayer.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.container.Signal;
import dev.zlayer.port.Container;
import dev.zlayer.task.TaskScope;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What a container prints. */
interface LogTests extends Harness {
  Workload MIXED =
      Workload.prints("one", "stderr:two", "three", "stderr:four", "five ö").withPrompts();

  @Test
  default void bothStreamsAreKeptInOrder() throws InterruptedException {
    Container container = printed(MIXED);
    ended(container);
    var records = records(container, LogQuery.ALL);
    assertThat(records)
        .extracting(LogRecord::text)
        .containsExactly("one", "two", "three", "four", "five ö");
    assertThat(records)
        .extracting(LogRecord::stream)
        .containsExactly(
            LogRecord.Stream.STDOUT,
            LogRecord.Stream.STDERR,
            LogRecord.Stream.STDOUT,
            LogRecord.Stream.STDERR,
            LogRecord.Stream.STDOUT);
    assertThat(records).extracting(LogRecord::time).isSorted();
    assertThat(records).noneMatch(LogRecord::partial);
  }

  @Test
  default void oneStreamCanBeAskedFor() throws InterruptedException {
    Container container = printed(MIXED);
    ended(container);
    assertThat(lines(container, LogQuery.ALL.only(LogRecord.Stream.STDERR)))
        .containsExactly("two", "four");
    assertThat(lines(container, LogQuery.ALL.only(LogRecord.Stream.STDOUT)))
        .containsExactly("one", "three", "five ö");
  }

  @Test
  default void tailGivesTheLastLines() throws InterruptedException {
    Container container = printed(MIXED);
    ended(container);
    assertThat(lines(container, LogQuery.ALL.withTail(2))).containsExactly("four", "five ö");
    assertThat(lines(container, LogQuery.ALL.withTail(0))).isEmpty();
    assertThat(lines(container, LogQuery.ALL.withTail(99))).hasSize(5);
    var errors = LogQuery.ALL.only(LogRecord.Stream.STDERR);
    assertThat(lines(container, errors.withTail(1))).containsExactly("four");
  }

  @Test
  default void timeWindowsHoldBothTheirEnds() throws InterruptedException {
    Container container = printed(MIXED);
    ended(container);
    List<Instant> times = records(container, LogQuery.ALL).stream().map(LogRecord::time).toList();
    assertThat(times).doesNotHaveDuplicates();
    assertThat(lines(container, LogQuery.ALL.withSince(times.get(3))))
        .containsExactly("four", "five ö");
    assertThat(lines(container, LogQuery.ALL.withUntil(times.get(1))))
        .containsExactly("one", "two");
    var window = LogQuery.ALL.withSince(times.get(1)).withUntil(times.get(3));
    assertThat(lines(container, window)).containsExactly("two", "three", "four");
    assertThat(lines(container, window.withTail(1))).containsExactly("four");
    Instant last = times.get(4);
    try (var reader = container.logs(LogQuery.ALL.withSince(last))) {
      for (var piece = reader.next(); piece.isPresent(); piece = reader.next()) {
        last = piece.get().time();
      }
    }
    assertThat(lines(container, LogQuery.ALL.withSince(last.plusNanos(1)))).isEmpty();
  }

  @Test
  default void oneThatNeverRanHasPrintedNothing() throws InterruptedException {
    Container container = created(MIXED);
    assertThat(lines(container, LogQuery.ALL)).isEmpty();
    assertThat(lines(container, LogQuery.ALL.withTail(3))).isEmpty();
  }

  @Test
  default void followingGivesLinesWhileItRunsAndEndsWithIt() throws InterruptedException {
    Container container = started(Workload.sleepsForever().printing("a", "b"));
    try (var reader = container.logs(LogQuery.ALL.following())) {
      assertThat(nextLine(reader).map(LogRecord::text)).contains("a");
      assertThat(nextLine(reader).map(LogRecord::text)).contains("b");
      assertThat(container.status().alive()).isTrue();
      container.kill(Signal.KILL);
      assertThat(reader.next()).isEmpty();
    }
  }

  @Test
  default void followingWaitsForTheEnd() throws InterruptedException {
    Container container = started(Workload.prints("a").after(Duration.ofMillis(400)));
    assertThat(lines(container, LogQuery.ALL.following())).containsExactly("a");
    assertThat(container.status().alive()).isFalse();
  }

  @Test
  default void followingAnEndedOneReadsAllAndEnds() throws InterruptedException {
    Container container = printed(MIXED);
    ended(container);
    assertThat(lines(container, LogQuery.ALL.following())).hasSize(5);
    assertThat(lines(container, LogQuery.ALL.following().withTail(1))).containsExactly("five ö");
  }

  @Test
  default void closingAReaderEndsItsWait() throws InterruptedException {
    Container container = ready(Workload.sleepsForever());
    var reader = container.logs(LogQuery.ALL.withTail(0).following());
    try (var scope = new TaskScope("reader")) {
      var next = scope.fork(reader::next);
      reader.close();
      scope.join();
      assertThat(next.result()).isEqualTo(Optional.empty());
    }
    assertThat(container.status().alive()).isTrue();
  }

  @Test
  default void theOutputOfALaterRunFollowsThatOfTheFirst() throws InterruptedException {
    Container container = started(Workload.prints("line"));
    ended(container);
    container.start();
    ended(container);
    assertThat(lines(container, LogQuery.ALL)).containsExactly("line", "line");
  }

  @Test
  default void binaryAndUnfinishedLinesAreKept() throws InterruptedException {
    needsRealShell();
    Container container = started(Workload.runs("printf 'a\\377\\001b\\n\\nlast'"));
    ended(container);
    var records = records(container, LogQuery.ALL);
    assertThat(records).hasSize(3);
    assertThat(records.get(0).bytes()).containsExactly('a', 0xff, 1, 'b');
    assertThat(records.get(1).bytes()).isEmpty();
    assertThat(records.get(2).text()).isEqualTo("last");
    assertThat(records.get(2).partial()).isTrue();
  }
}
