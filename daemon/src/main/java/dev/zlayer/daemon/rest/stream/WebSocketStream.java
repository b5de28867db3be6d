package dev.zlayer.daemon.rest.stream;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Signal;
import dev.zlayer.container.TerminalSize;
import dev.zlayer.daemon.http.ProblemDocument;
import dev.zlayer.daemon.http.WebSocketFrames;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.eclipse.jetty.websocket.api.Callback;
import org.eclipse.jetty.websocket.api.Session;
import org.jspecify.annotations.Nullable;

/**
 * A conversation over a WebSocket. Binary frames begin with the number of the stream; text frames
 * are commands from the caller, and the exit or an error to it. One thread listens to the process;
 * the server's own threads bring what the caller says, one frame at a time.
 */
public final class WebSocketStream implements Session.Listener, AutoCloseable {
  static final byte STDIN = 0;
  static final byte STDOUT = 1;
  static final byte STDERR = 2;

  private static final int NORMAL = 1000;
  private static final int FAULT = 1011;

  private final Opener opener;
  private final String requestId;
  private final AtomicReference<@Nullable Conversation> conversation = new AtomicReference<>();
  private final Object sizes = new Object();
  private Optional<TerminalSize> unsettled = Optional.empty(); // guarded by sizes
  private volatile @Nullable Session socket;
  private volatile @Nullable Thread thread;

  /** Begins the conversation; what it throws is told to the caller. */
  @FunctionalInterface
  interface Opener {
    Conversation open() throws InterruptedException;
  }

  WebSocketStream(Opener opener, String requestId) {
    this.opener = opener;
    this.requestId = requestId;
  }

  @Override
  public void onWebSocketOpen(Session session) {
    socket = session;
    Conversation opened;
    try {
      opened = opener.open();
    } catch (InterruptedException _) {
      session.disconnect();
      return;
    } catch (AgentException e) {
      fail(session, e);
      session.demand(); // for the end that the client says
      return;
    }
    conversation.set(opened);
    Thread listener =
        Thread.ofVirtual().name("stream-" + requestId).unstarted(() -> run(session, opened));
    thread = listener;
    listener.start();
    session.demand();
  }

  private void run(Session session, Conversation opened) {
    try (opened) {
      opened.listen(
          new Conversation.OutputSink() {
            @Override
            public void hear(byte stream, byte[] bytes, int length)
                throws IOException, InterruptedException {
              settle(opened);
              send(session, stream, bytes, length);
            }

            @Override
            public void discarded(long bytes) throws IOException, InterruptedException {
              say(session, Json.object().put("discarded", bytes).build());
            }

            @Override
            public void gap() throws IOException, InterruptedException {
              say(session, Json.object().put("gap", true).build());
            }
          });
      ExitStatus exit = opened.await();
      var facts = Json.object().put("reason", exit.text());
      if (exit.exitCode().isPresent()) {
        facts.put("code", exit.exitCode().getAsInt());
      }
      say(session, Json.object().put("exit", facts.build()).build());
      new WebSocketFrames(session).end(NORMAL);
    } catch (AgentException e) {
      fail(session, e);
    } catch (IOException | InterruptedException | RuntimeException _) {
      session.disconnect(); // the client disconnected
    }
  }

  /**
   * A size that came before the terminal was ready may be lost, so it is set again with the next
   * output. Under the lock, so that it never replaces one that came since.
   */
  private void settle(Conversation opened) {
    synchronized (sizes) {
      unsettled.ifPresent(size -> opened.resize(size.rows(), size.columns()));
      unsettled = Optional.empty();
    }
  }

  private void resize(Conversation current, TerminalSize size) {
    synchronized (sizes) {
      current.resize(size.rows(), size.columns());
      unsettled = Optional.of(size);
    }
  }

  private static void send(Session session, byte stream, byte[] bytes, int length)
      throws IOException, InterruptedException {
    new WebSocketFrames(session)
        .binary(ByteBuffer.allocate(length + 1).put(stream).put(bytes, 0, length).flip());
  }

  private static void say(Session session, Json json) throws IOException, InterruptedException {
    new WebSocketFrames(session).text(JsonText.print(json));
  }

  private void fail(Session session, AgentException error) {
    try {
      say(session, Json.object().put("error", problem(error)).build());
      new WebSocketFrames(session).end(FAULT);
    } catch (IOException | InterruptedException _) {
      session.disconnect();
    }
  }

  private Json problem(AgentException error) {
    return ProblemDocument.of(error).json(requestId);
  }

  @Override
  public void onWebSocketBinary(ByteBuffer payload, Callback callback) {
    Conversation current = conversation.get();
    try {
      if (current != null && payload.hasRemaining() && payload.get() == STDIN) {
        var bytes = new byte[payload.remaining()];
        payload.get(bytes);
        current.stdin().write(bytes);
        current.stdin().flush();
      }
    } catch (IOException _) {
      // its process reads no more; that it ended is told in its own time
    }
    callback.succeed();
    demand();
  }

  @Override
  public void onWebSocketText(String message) {
    Conversation current = conversation.get();
    Session session = socket;
    if (session == null) {
      return;
    }
    try {
      if (current != null) {
        command(current, JsonText.parse(message));
      }
    } catch (AgentException e) {
      try {
        say(session, Json.object().put("error", problem(e)).build());
      } catch (IOException | InterruptedException _) {
        session.disconnect();
      }
    } catch (IOException | InterruptedException _) {
      // its process reads no more
    }
    demand();
  }

  private void command(Conversation current, Json json) throws IOException, InterruptedException {
    Json size = json.at("resize");
    if (!size.isNull()) {
      resize(current, new TerminalSize(number(size, "rows"), number(size, "columns")));
    }
    Optional<String> signal = json.at("signal").string();
    if (signal.isPresent()) {
      current.signal(Signal.parse(signal.get()));
    }
    if (json.at("close_stdin").bool().orElse(false)) {
      current.stdin().close();
    }
  }

  private static int number(Json json, String name) {
    return json.at(name)
        .integer()
        .filter(value -> value > 0 && value < 10_000)
        .map(Long::intValue)
        .orElseThrow(() -> new AgentException.InvalidSpec("resize needs rows and columns above 0"));
  }

  private void demand() {
    Session session = socket;
    if (session != null) {
      new WebSocketFrames(session).demand();
    }
  }

  @Override
  public void onWebSocketClose(int code, String reason, Callback callback) {
    close();
    callback.succeed();
  }

  @Override
  public void onWebSocketError(Throwable cause) {
    close();
  }

  /** Ends the conversation, and with it the thread that listens. */
  @Override
  public void close() {
    Conversation current = conversation.getAndSet(null);
    if (current != null) {
      current.close();
    }
    Thread listener = thread;
    if (listener != null) {
      listener.interrupt();
    }
  }
}
