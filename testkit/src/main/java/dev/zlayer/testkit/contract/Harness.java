package dev.zlayer.testkit.contract;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.Signal;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.LogLines;
import dev.zlayer.port.LogReader;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.Assumptions;

/** What the groups of contract tests build on. */
interface Harness {
  /** Far longer than any step takes; a test that needs it has failed. */
  Duration TIMEOUT = Duration.ofSeconds(60);

  ContainerRuntime current();

  ContainerRuntime restart();

  boolean realShell();

  ContainerSpec spec(Workload workload);

  ContainerSpec unstartable();

  String[] shellCommand(String script);

  ContainerId newId();

  Container create(ContainerSpec spec) throws InterruptedException;

  Container labelled(Workload workload, Map<String, String> labels) throws InterruptedException;

  default Container created(Workload workload) throws InterruptedException {
    return create(spec(workload));
  }

  default Container started(Workload workload) throws InterruptedException {
    Container container = created(workload);
    container.start();
    return container;
  }

  /** Started, and its traps are set: its first line was read. */
  default Container ready(Workload workload) throws InterruptedException {
    Container container = started(workload.printing("ready"));
    try (var reader = container.logs(LogQuery.ALL.following())) {
      Assertions.assertThat(nextLine(reader).map(LogRecord::text)).contains("ready");
    }
    return container;
  }

  /**
   * Has printed all its lines, to both streams: no runtime can order what two pipes hold at the
   * same time, so each line is printed when the one before was read.
   */
  default Container printed(Workload prompted) throws InterruptedException {
    Container container = started(prompted);
    if (realShell()) {
      try (var reader = container.logs(LogQuery.ALL.following())) {
        for (int number = 1; number < prompted.lines().size(); number++) {
          Assertions.assertThat(nextLine(reader)).isPresent();
          container.kill(Signal.parse("USR1"));
        }
        Assertions.assertThat(nextLine(reader)).isPresent();
      }
    }
    return container;
  }

  default Deadline patience() {
    return Deadline.after(TIMEOUT);
  }

  default Outcome ended(Container container) throws InterruptedException {
    return container.await(WaitCondition.NOT_RUNNING, patience());
  }

  default ContainerStatus.Phase phase(Container container) {
    return container.status().phase();
  }

  default OptionalInt code(Outcome outcome) {
    return outcome.status().exitCode();
  }

  default OptionalInt code(ExitStatus status) {
    return status.exitCode();
  }

  /** Whole lines: how many pieces a line is written in is the program's own business. */
  default List<LogRecord> records(Container container, LogQuery query) throws InterruptedException {
    var records = new ArrayList<LogRecord>();
    try (var reader = container.logs(query)) {
      for (var next = nextLine(reader); next.isPresent(); next = nextLine(reader)) {
        records.add(next.get());
      }
    }
    return records;
  }

  /** Joins the pieces of the next line, with the time of the first. */
  default Optional<LogRecord> nextLine(LogReader reader) throws InterruptedException {
    Optional<LogRecord> line = reader.next();
    while (line.isPresent() && line.get().partial()) {
      Optional<LogRecord> piece = reader.next();
      if (piece.isEmpty()) {
        return line;
      }
      LogRecord begun = line.get();
      Assertions.assertThat(piece.get().stream()).as("nobody interrupts").isEqualTo(begun.stream());
      byte[] joined =
          Arrays.copyOf(begun.bytes(), begun.bytes().length + piece.get().bytes().length);
      System.arraycopy(
          piece.get().bytes(), 0, joined, begun.bytes().length, piece.get().bytes().length);
      line =
          Optional.of(new LogRecord(begun.time(), begun.stream(), joined, piece.get().partial()));
    }
    return line;
  }

  default List<String> lines(Container container, LogQuery query) throws InterruptedException {
    try (var reader = container.logs(query)) {
      return LogLines.read(reader);
    }
  }

  /** Whether a container goes on when the agent ends; else it is found ended, in an unknown way. */
  default boolean outlivesTheAgent() {
    return true;
  }

  default void needsToOutliveTheAgent() {
    Assumptions.assumeTrue(outlivesTheAgent(), "containers of this runtime end with the agent");
  }

  default void needsRealShell() {
    Assumptions.assumeTrue(realShell(), "this runtime has no real shell");
  }

  /** Whether the output of a command ends with it, whatever processes it left behind. */
  default boolean endsOutputWithCommands() {
    return true;
  }

  default <T> T power(Container container, Class<T> type) {
    Assumptions.assumeTrue(
        current().capabilities().powers().contains(type),
        "this runtime does not declare " + type.getSimpleName());
    return type.cast(container);
  }
}
