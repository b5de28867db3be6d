package dev.zlayer.daemon.docker;

import dev.zlayer.daemon.http.ApiResponse;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Refuses every call of a gRPC client with a reason. Clients do not show the body of an answer that
 * refuses the connection, so it is accepted, and HTTP/2 spoken as far as that needs: whatever a
 * call is, its answer is the same.
 */
final class GrpcRefusal implements ApiResponse.Conversation {
  private static final int PREFACE = 24;
  private static final int LARGEST_FRAME = 16 << 10;
  private static final int HEADERS = 1;
  private static final int SETTINGS = 4;
  private static final int PING = 6;
  private static final int GO_AWAY = 7;
  private static final int ACKNOWLEDGED = 1;
  private static final int END_OF_STREAM_AND_HEADERS = 5;

  /** The first entry of the static table that says 200. */
  private static final byte STATUS_OK = (byte) 0x88;

  private static final String FAILED_PRECONDITION = "9";

  private final byte[] answer;

  /** {@code reason} is short and of printable ASCII, without per cent signs. */
  GrpcRefusal(String reason) {
    var fields = ByteBuffer.allocate(512).put(STATUS_OK);
    field(fields, "content-type", "application/grpc");
    field(fields, "grpc-status", FAILED_PRECONDITION);
    field(fields, "grpc-message", reason);
    this.answer = new byte[fields.position()];
    fields.flip().get(answer);
  }

  /** A literal that is not added to the table, its lengths in one byte each. */
  private static void field(ByteBuffer to, String name, String value) {
    to.put((byte) 0);
    for (String text : new String[] {name, value}) {
      if (text.length() >= 0x7f) {
        throw new IllegalArgumentException("longer than a byte says: " + text);
      }
      to.put((byte) text.length()).put(text.getBytes(StandardCharsets.US_ASCII));
    }
  }

  @Override
  public void run(InputStream input, OutputStream out) throws IOException {
    var in = new DataInputStream(input);
    try {
      in.readFully(new byte[PREFACE]);
      send(out, SETTINGS, 0, 0, new byte[0]);
      while (true) {
        int head = in.readInt();
        int length = head >>> 8;
        int type = head & 0xff;
        int flags = in.readUnsignedByte();
        int stream = in.readInt() & Integer.MAX_VALUE;
        if (length > LARGEST_FRAME || type == GO_AWAY) {
          return;
        }
        byte[] content = new byte[length];
        in.readFully(content);
        boolean asks = (flags & ACKNOWLEDGED) == 0;
        switch (type) {
          case HEADERS -> send(out, HEADERS, END_OF_STREAM_AND_HEADERS, stream, answer);
          case SETTINGS -> acknowledge(asks, out, SETTINGS, new byte[0]);
          case PING -> acknowledge(asks, out, PING, content);
          default -> {} // nothing more is read of a call
        }
      }
    } catch (EOFException _) {
      // the client has closed the connection
    }
  }

  private static void acknowledge(boolean asked, OutputStream out, int type, byte[] content)
      throws IOException {
    if (asked) {
      send(out, type, ACKNOWLEDGED, 0, content);
    }
  }

  private static void send(OutputStream out, int type, int flags, int stream, byte[] content)
      throws IOException {
    out.write(
        ByteBuffer.allocate(9 + content.length)
            .putInt(content.length << 8 | type)
            .put((byte) flags)
            .putInt(stream)
            .put(content)
            .array());
  }
}
