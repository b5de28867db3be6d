package dev.zlayer.daemon.rest.stream;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.ExecSession;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/** With a further process inside a container. */
final class ExecConversation implements Conversation {
  private static final int BUFFER = 16 << 10;

  private final ExecSession session;

  ExecConversation(ExecSession session) {
    this.session = session;
  }

  @Override
  public void listen(OutputSink ear) throws InterruptedException {
    try (var scope = new TaskScope("listen")) {
      scope.fork(() -> copy(session.stdout(), WebSocketStream.STDOUT, ear));
      scope.fork(() -> copy(session.stderr(), WebSocketStream.STDERR, ear));
      scope.join();
    }
  }

  static boolean copy(InputStream in, byte stream, OutputSink ear)
      throws IOException, InterruptedException {
    var buffer = new byte[BUFFER];
    for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
      ear.hear(stream, buffer, count);
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
  public void signal(Signal signal) {
    throw new AgentException.Unsupported(
        "signals to a process in a container: send the key of its terminal instead");
  }

  @Override
  public ExitStatus await() throws InterruptedException {
    return session.await(Deadline.none());
  }

  @Override
  public void close() {
    session.close();
  }
}
