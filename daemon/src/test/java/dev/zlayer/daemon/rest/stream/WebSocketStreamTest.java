package dev.zlayer.daemon.rest.stream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Signal;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
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

  private static String size(int columns) {
    return "{\"resize\":{\"rows\":50,\"columns\":%d}}".formatted(columns);
  }

  /** One that takes whatever is sent to it. */
  private static Session client() {
    return (Session)
        Proxy.newProxyInstance(
            Session.class.getClassLoader(),
            new Class<?>[] {Session.class},
            (_, method, arguments) -> {
              if (arguments != null && arguments[arguments.length - 1] instanceof Callback sent) {
                sent.succeed();
              }
              return method.getReturnType() == boolean.class ? true : null;
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
