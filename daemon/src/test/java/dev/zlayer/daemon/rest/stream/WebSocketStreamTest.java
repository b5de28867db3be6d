package dev.zlayer.daemon.rest.stream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.eclipse.jetty.websocket.api.Callback;
import org.eclipse.jetty.websocket.api.Session;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class WebSocketStreamTest {
  /** The size before it is set again with the output that follows, on another thread. */
  @Test
  void aSizeThatIsSetAgainDoesNotReplaceALaterOne() throws Exception {
    var terminal = new SlowTerminal();
    try (var stream = new WebSocketStream(() -> terminal, "r1")) {
      stream.onWebSocketOpen(client());
      stream.onWebSocketText(size(129));
      terminal.prints.countDown();
      terminal.again.await();
      Thread later = Thread.ofVirtual().start(() -> stream.onWebSocketText(size(130)));
      later.join();
      terminal.heard.await();
    }
    assertThat(terminal.sizes).startsWith(129).endsWith(130);
  }

  /** Else nobody would notice that the client has gone, and its connection would stay. */
  @Test
  void theEndOfTheClientIsAwaitedAlthoughTheProcessHasEnded() throws Exception {
    var terminal = new SlowTerminal();
    var calls = new CopyOnWriteArrayList<String>();
    try (var stream = new WebSocketStream(() -> terminal, "r1")) {
      stream.onWebSocketOpen(client(calls));
      terminal.prints.countDown();
      Awaitility.await().until(() -> calls.contains("close"));
      assertThat(calls).containsSubsequence("setIdleTimeout", "close");
      calls.clear();

      stream.onWebSocketText(size(130));

      assertThat(calls).containsExactly("demand");
    }
  }

  @Test
  void theEndOfTheClientIsAwaitedAlthoughNothingBegan() throws Exception {
    var calls = new CopyOnWriteArrayList<String>();
    WebSocketStream.Opener refusing =
        () -> {
          throw new AgentException.NotFound("container 'c'", "there is none");
        };
    try (var stream = new WebSocketStream(refusing, "r1")) {
      stream.onWebSocketOpen(client(calls));
      stream.onWebSocketText(size(130));
    }
    assertThat(calls).containsExactly("sendText", "setIdleTimeout", "close", "demand", "demand");
  }

  private static String size(int columns) {
    return "{\"resize\":{\"rows\":50,\"columns\":%d}}".formatted(columns);
  }

  /** One that takes whatever is sent to it. */
  private static Session client() {
    return client(new CopyOnWriteArrayList<>());
  }

  /** It is not open any more once it was closed. */
  private static Session client(List<String> calls) {
    var closed = new AtomicBoolean();
    return (Session)
        Proxy.newProxyInstance(
            Session.class.getClassLoader(),
            new Class<?>[] {Session.class},
            (_, method, arguments) -> {
              calls.add(method.getName());
              closed.compareAndSet(false, method.getName().equals("close"));
              if (arguments != null && arguments[arguments.length - 1] instanceof Callback sent) {
                sent.succeed();
              }
              return method.getReturnType() == boolean.class ? !closed.get() : null;
            });
  }

  /** The second size that it is given takes effect only after the third, if that may come. */
  private static final class SlowTerminal implements Conversation {
    final CountDownLatch prints = new CountDownLatch(1);
    final CountDownLatch again = new CountDownLatch(1);
    final CountDownLatch heard = new CountDownLatch(1);
    final List<Integer> sizes = new CopyOnWriteArrayList<>();
    private final CountDownLatch later = new CountDownLatch(1);

    @Override
    public void listen(OutputSink sink) throws IOException, InterruptedException {
      prints.await();
      sink.hear(WebSocketStream.STDOUT, new byte[1], 1);
      heard.countDown();
    }

    @Override
    public void resize(int rows, int columns) {
      if (!sizes.isEmpty() && columns == 129) {
        again.countDown();
        try {
          boolean _ = later.await(500, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
          throw new IllegalStateException(e);
        }
      }
      sizes.add(columns);
      if (columns == 130) {
        later.countDown();
      }
    }

    @Override
    public OutputStream stdin() {
      return OutputStream.nullOutputStream();
    }

    @Override
    public void signal(Signal signal) {}

    @Override
    public ExitStatus await() {
      return new ExitStatus.Code(0);
    }

    @Override
    public void close() {}
  }
}
