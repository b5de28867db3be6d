package dev.zlayer.host.http;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Frames of a WebSocket: written masked as a client must, read and put together with a limit. */
final class ClientFrames {
  static final int CONTINUATION = 0;
  static final int TEXT = 1;
  static final int BINARY = 2;
  static final int CLOSE = 8;
  static final int PING = 9;
  static final int PONG = 10;
  private static final int LAST = 0x80;
  private static final int MASKED = 0x80;
  private static final int MAX_CONTROL = 125;

  /** The peer does not keep to the protocol. */
  static final class Violation extends IOException {
    Violation(String message) {
      super(message);
    }
  }

  @SuppressWarnings("ArrayRecordComponent") // read once, compared never
  record Frame(boolean last, int opcode, byte[] payload) {}

  private final DataInputStream in;
  private final int maxMessageBytes;
  private int opcode = CONTINUATION;
  private ByteArrayOutputStream parts = new ByteArrayOutputStream();

  ClientFrames(InputStream in, int maxMessageBytes) {
    this.in = new DataInputStream(in);
    this.maxMessageBytes = maxMessageBytes;
  }

  /** A control frame, or a message with all its parts. */
  Frame nextMessage() throws IOException {
    while (true) {
      Frame frame = next();
      if (frame.opcode >= CLOSE) {
        return frame;
      }
      if ((frame.opcode == CONTINUATION) == (opcode == CONTINUATION)) {
        throw new Violation("a part of a message out of order");
      }
      if (opcode == CONTINUATION) {
        opcode = frame.opcode;
      }
      parts.writeBytes(frame.payload);
      if (frame.last) {
        var whole = new Frame(true, opcode, parts.toByteArray());
        opcode = CONTINUATION;
        parts = new ByteArrayOutputStream();
        return whole;
      }
    }
  }

  private Frame next() throws IOException {
    int first = in.readUnsignedByte();
    int second = in.readUnsignedByte();
    int kind = first & 0x0f;
    boolean last = (first & LAST) != 0;
    boolean known = kind <= BINARY || (kind >= CLOSE && kind <= PONG);
    if ((first & 0x70) != 0 || !known || (second & MASKED) != 0) {
      throw new Violation("a frame of an unknown or forbidden kind");
    }
    long length =
        switch (second) {
          case 126 -> in.readUnsignedShort();
          case 127 -> in.readLong();
          default -> second;
        };
    if (kind >= CLOSE && (length > MAX_CONTROL || !last)) {
      throw new Violation("a control frame that is too long or in parts");
    }
    if (length < 0 || length > maxMessageBytes - parts.size()) {
      throw new Violation("a message longer than " + maxMessageBytes + " bytes");
    }
    byte[] payload = new byte[(int) length];
    in.readFully(payload);
    return new Frame(last, kind, payload);
  }

  static void write(ByteArrayOutputStream out, int opcode, byte[] payload, int mask) {
    out.write(LAST | opcode);
    if (payload.length <= MAX_CONTROL) {
      out.write(MASKED | payload.length);
    } else if (payload.length <= 0xffff) {
      out.write(MASKED | 126);
      out.writeBytes(ByteBuffer.allocate(2).putShort((short) payload.length).array());
    } else {
      out.write(MASKED | 127);
      out.writeBytes(ByteBuffer.allocate(8).putLong(payload.length).array());
    }
    byte[] key = ByteBuffer.allocate(4).putInt(mask).array();
    out.writeBytes(key);
    byte[] masked = new byte[payload.length];
    for (int i = 0; i < payload.length; i++) {
      masked[i] = (byte) (payload[i] ^ key[i & 3]);
    }
    out.writeBytes(masked);
  }

  static String utf8(byte[] bytes) throws Violation {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      var violation = new Violation("text that is not UTF-8");
      violation.initCause(e);
      throw violation;
    }
  }
}
