package dev.zlayer.host.http;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The client's end of a WebSocket (RFC 6455). One thread receives; any thread may send. Pings are
 * answered while receiving. Everything that breaks is an {@link AgentException.Network}.
 */
public final class WebSocket implements AutoCloseable {
  private static final String ACCEPT_SALT = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  private static final SecureRandom RANDOM = new SecureRandom();
  private static final int PROTOCOL_ERROR = 1002;
  private static final int NO_CODE = 1005;

  /** What came from the server. */
  public sealed interface Message {
    record Text(String text) implements Message {}

    @SuppressWarnings("ArrayRecordComponent") // read once, compared never
    record Binary(byte[] bytes) implements Message {}

    /** The last message: the server ended the conversation. 1005 means that it gave no code. */
    record Closed(int code, String reason) implements Message {}
  }

  /** The answer to {@link #open}. */
  public sealed interface Opened {
    record Accepted(WebSocket socket) implements Opened {}

    /** The server answered in HTTP; the caller closes the response. */
    record Refused(HttpResponse response) implements Opened {}
  }

  private final Duplex connection;
  private final ClientFrames frames;
  private final ReentrantLock sending = new ReentrantLock();
  private boolean closeSent;

  private WebSocket(Duplex connection, int maxMessageBytes) {
    this.connection = connection;
    this.frames = new ClientFrames(connection.input(), maxMessageBytes);
  }

  /** The deadline is for the handshake. */
  public static Opened open(
      HttpClient client, String target, HttpHeaders headers, int maxMessageBytes, Deadline deadline)
      throws InterruptedException {
    byte[] nonce = new byte[16];
    RANDOM.nextBytes(nonce);
    String key = Base64.getEncoder().encodeToString(nonce);
    HttpRequest request =
        new HttpRequest("GET", target, headers, new HttpRequest.Body.None())
            .with("Upgrade", "websocket")
            .with("Sec-WebSocket-Version", "13")
            .with("Sec-WebSocket-Key", key);
    return switch (client.upgrade(request, deadline)) {
      case Upgraded.Refused(HttpResponse response) -> new Opened.Refused(response);
      case Upgraded.Accepted(HttpHeaders answer, Duplex connection) -> {
        if (!answer.first("Sec-WebSocket-Accept").equals(java.util.Optional.of(accept(key)))) {
          connection.close();
          throw new AgentException.Network(request + ": the peer is no WebSocket server");
        }
        yield new Opened.Accepted(new WebSocket(connection, maxMessageBytes));
      }
    };
  }

  static String accept(String key) {
    try {
      byte[] salted = (key + ACCEPT_SALT).getBytes(StandardCharsets.US_ASCII);
      return Base64.getEncoder().encodeToString(MessageDigest.getInstance("SHA-1").digest(salted));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-1", e);
    }
  }

  public void sendText(String text) throws InterruptedException {
    send(ClientFrames.TEXT, text.getBytes(StandardCharsets.UTF_8));
  }

  public void sendBinary(byte[] bytes) throws InterruptedException {
    send(ClientFrames.BINARY, bytes);
  }

  public void ping() throws InterruptedException {
    send(ClientFrames.PING, new byte[0]);
  }

  /** Asks the server to end the conversation; go on receiving until it agrees. */
  public void sendClose(int code, String reason) throws InterruptedException {
    byte[] text = reason.getBytes(StandardCharsets.UTF_8);
    byte[] payload = ByteBuffer.allocate(2 + text.length).putShort((short) code).put(text).array();
    send(ClientFrames.CLOSE, payload);
  }

  /** Blocks until a message has come whole; after {@link Message.Closed} there is none. */
  public Message receive() throws InterruptedException {
    try {
      while (true) {
        ClientFrames.Frame frame = frames.nextMessage();
        switch (frame.opcode()) {
          case ClientFrames.TEXT -> {
            return new Message.Text(ClientFrames.utf8(frame.payload()));
          }
          case ClientFrames.BINARY -> {
            return new Message.Binary(frame.payload());
          }
          case ClientFrames.PING -> send(ClientFrames.PONG, frame.payload());
          case ClientFrames.CLOSE -> {
            return closed(frame.payload());
          }
          default -> {
            // a pong: nothing to do
          }
        }
      }
    } catch (ClientFrames.Violation e) {
      closeQuietly(PROTOCOL_ERROR);
      throw new AgentException.Network("the peer broke the WebSocket protocol: " + reason(e), e);
    } catch (IOException e) {
      close();
      throw HttpFailure.translate("receiving from a WebSocket", e);
    }
  }

  private static String reason(IOException e) {
    return String.valueOf(e.getMessage());
  }

  private Message closed(byte[] payload) throws IOException {
    if (payload.length == 1) {
      throw new ClientFrames.Violation("a close code of one byte");
    }
    int code = payload.length == 0 ? NO_CODE : ByteBuffer.wrap(payload).getShort() & 0xffff;
    byte[] text =
        payload.length == 0 ? payload : java.util.Arrays.copyOfRange(payload, 2, payload.length);
    String reason = ClientFrames.utf8(text);
    closeQuietly(code == NO_CODE ? 1000 : code);
    return new Message.Closed(code, reason);
  }

  private void closeQuietly(int code) {
    try {
      sendClose(code, "");
    } catch (AgentException _) {
      // the peer does not listen any more
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } finally {
      close();
    }
  }

  private void send(int opcode, byte[] payload) throws InterruptedException {
    var frame = new ByteArrayOutputStream(payload.length + 14);
    ClientFrames.write(frame, opcode, payload, RANDOM.nextInt());
    sending.lockInterruptibly();
    try {
      if (closeSent) {
        if (opcode == ClientFrames.CLOSE || opcode == ClientFrames.PONG) {
          return;
        }
        throw new AgentException.Network("the WebSocket is closed");
      }
      closeSent = opcode == ClientFrames.CLOSE;
      connection.output().write(frame.toByteArray());
    } catch (IOException e) {
      throw HttpFailure.translate("sending to a WebSocket", e);
    } finally {
      sending.unlock();
    }
  }

  /** Ends the connection without ceremony, also for a thread that receives. */
  @Override
  public void close() {
    connection.close();
  }
}
