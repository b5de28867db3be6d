package dev.zlayer.cli.client;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.WebSocket;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.Arrays;
import java.util.Optional;

/** The two directions of a running process: its bytes, and words about it. */
public final class Channel implements AutoCloseable {
  private static final byte INPUT = 0;
  private static final int NORMAL = 1000;

  private final WebSocket socket;

  Channel(WebSocket socket) {
    this.socket = socket;
  }

  /** What came: bytes of one of its streams, or a word. */
  public sealed interface Frame {
    /**
     * Output.
     *
     * @param stream 1 standard output, 2 standard error
     */
    @SuppressWarnings("ArrayRecordComponent") // bytes to hand over, never compared
    record Bytes(int stream, byte[] bytes) implements Frame {}

    record Word(Json json) implements Frame {}
  }

  /** Bytes for its standard input. */
  public void input(byte[] bytes, int length) throws InterruptedException {
    var frame = new byte[length + 1];
    frame[0] = INPUT;
    System.arraycopy(bytes, 0, frame, 1, length);
    socket.sendBinary(frame);
  }

  public void endInput() throws InterruptedException {
    say(Json.object().put("close_stdin", true).build());
  }

  public void resize(int columns, int rows) throws InterruptedException {
    Json size = Json.object().put("columns", columns).put("rows", rows).build();
    say(Json.object().put("resize", size).build());
  }

  public void signal(String name) throws InterruptedException {
    say(Json.object().put("signal", name).build());
  }

  /** Blocks for the next frame; nothing when the daemon has said all. */
  public Optional<Frame> next() throws InterruptedException {
    try {
      while (true) {
        switch (socket.receive()) {
          case WebSocket.Message.Text(String text) -> {
            return Optional.of(new Frame.Word(AnswerJson.parse(text)));
          }
          case WebSocket.Message.Binary(byte[] bytes) -> {
            if (bytes.length > 1) {
              return Optional.of(
                  new Frame.Bytes(bytes[0], Arrays.copyOfRange(bytes, 1, bytes.length)));
            }
          }
          case WebSocket.Message.Closed _ -> {
            return Optional.empty();
          }
        }
      }
    } catch (AgentException.Network e) {
      throw new ConnectionLost("connection to the daemon lost: " + e.getMessage(), e);
    }
  }

  /** Leaves; what runs goes on. */
  public void leave() throws InterruptedException {
    socket.sendClose(NORMAL, "");
  }

  @Override
  public void close() {
    socket.close();
  }

  private void say(Json word) throws InterruptedException {
    socket.sendText(JsonText.print(word));
  }
}
