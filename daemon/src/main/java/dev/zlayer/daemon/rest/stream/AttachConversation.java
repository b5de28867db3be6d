package dev.zlayer.daemon.rest.stream;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.container.Signal;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.port.Container;
import dev.zlayer.port.ExecSession;
import dev.zlayer.port.LogReader;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;

/**
 * With a container's own process. Leaving does not end it. With the logs, all output comes from the
 * log, so that nothing is missing and nothing comes twice, however slowly it is read. Without, it
 * comes from now on, and what is read too slowly is discarded and reported.
 */
final class AttachConversation implements Conversation {
  private final Container container;
  private final ExecSession session;
  private final Optional<LogReader> log;
  private final AtomicLong reported = new AtomicLong();

  /** {@code output} opens what the container printed. */
  AttachConversation(
      Container container,
      ExecSession session,
      boolean logs,
      Function<LogQuery, LogReader> output) {
    this.container = container;
    this.session = session;
    this.log = logs ? Optional.of(output.apply(LogQuery.ALL.following())) : Optional.empty();
  }

  @Override
  public void listen(OutputSink ear) throws IOException, InterruptedException {
    try (var scope = new TaskScope("listen")) {
      OutputSink live =
          log.isPresent()
              ? (_, _, _) -> {}
              : (stream, bytes, length) -> {
                ear.hear(stream, bytes, length);
                report(ear);
              };
      if (log.isPresent()) {
        scope.fork(() -> replay(log.get(), ear));
      }
      scope.fork(() -> ExecConversation.copy(session.stdout(), WebSocketStream.STDOUT, live));
      scope.fork(() -> ExecConversation.copy(session.stderr(), WebSocketStream.STDERR, live));
      scope.join();
    }
    if (log.isEmpty()) {
      report(ear);
    }
  }

  private void report(OutputSink ear) throws IOException, InterruptedException {
    long discarded = session.discarded();
    long before = reported.getAndSet(discarded);
    if (discarded > before) {
      ear.discarded(discarded - before);
    }
  }

  private static boolean replay(LogReader reader, OutputSink ear)
      throws IOException, InterruptedException {
    for (var line = reader.next(); line.isPresent(); line = reader.next()) {
      LogRecord record = line.get();
      if (reader.gap()) {
        ear.gap();
      }
      byte stream =
          record.stream() == LogRecord.Stream.STDOUT
              ? WebSocketStream.STDOUT
              : WebSocketStream.STDERR;
      byte[] bytes = java.util.Arrays.copyOf(record.bytes(), record.bytes().length + 1);
      bytes[bytes.length - 1] = '\n';
      ear.hear(stream, bytes, record.partial() ? bytes.length - 1 : bytes.length);
    }
    return true;
  }

  @Override
  public OutputStream stdin() {
    return session.stdin();
  }

  @Override
  public void resize(int rows, int columns) {
    session.resize(rows, columns);
  }

  @Override
  public void signal(Signal signal) throws InterruptedException {
    container.kill(signal);
  }

  @Override
  public ExitStatus await() throws InterruptedException {
    return container.await(WaitCondition.NOT_RUNNING, Deadline.none()).status();
  }

  @Override
  public void close() {
    log.ifPresent(LogReader::close);
    session.close();
  }
}
