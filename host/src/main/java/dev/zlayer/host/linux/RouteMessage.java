package dev.zlayer.host.linux;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.Consumer;

/**
 * A request to the kernel about interfaces, addresses or routes: a header, a structure that depends
 * on its kind, and attributes, each with a length and a number (rtnetlink(7)).
 */
final class RouteMessage {
  static final int NEWLINK = 16;
  static final int DELLINK = 17;
  static final int SETLINK = 19;
  static final int NEWADDR = 20;
  static final int NEWROUTE = 24;

  private static final int REQUEST_ACK = 1 | 4;
  private static final int CREATE_EXCLUSIVELY = 0x400 | 0x200;
  private static final int LENGTH_MASK = 3;
  private static final int LARGEST = 1024;

  private final byte[] content = new byte[LARGEST];
  private final ByteBuffer bytes = ByteBuffer.wrap(content).order(ByteOrder.nativeOrder());

  private RouteMessage(int kind, int flags) {
    bytes.putInt(0).putShort((short) kind).putShort((short) flags).putLong(0);
  }

  /** Changes or deletes something that exists. */
  static RouteMessage changing(int kind) {
    return new RouteMessage(kind, REQUEST_ACK);
  }

  /** Makes something; refused when it exists. */
  static RouteMessage creating(int kind) {
    return new RouteMessage(kind, REQUEST_ACK | CREATE_EXCLUSIVELY);
  }

  /** The structure of messages about interfaces; {@code up} brings it up. */
  RouteMessage link(int family, int index, boolean up) {
    int flag = up ? 1 : 0;
    bytes.put((byte) family).put((byte) 0).putShort((short) 0);
    bytes.putInt(index).putInt(flag).putInt(flag);
    return this;
  }

  /** The structure of another kind of messages, byte by byte. */
  RouteMessage structure(int... parts) {
    for (int part : parts) {
      bytes.put((byte) part);
    }
    return this;
  }

  RouteMessage number(int value) {
    bytes.putInt(value);
    return this;
  }

  RouteMessage attribute(int type, byte... value) {
    bytes.putShort((short) (value.length + 4)).putShort((short) type).put(value);
    pad();
    return this;
  }

  RouteMessage attribute(int type, int value) {
    bytes.putShort((short) 8).putShort((short) type).putInt(value);
    return this;
  }

  RouteMessage attribute(int type, String text) {
    byte[] characters = text.getBytes(StandardCharsets.US_ASCII);
    return attribute(type, Arrays.copyOf(characters, characters.length + 1));
  }

  RouteMessage attribute(int type, Consumer<RouteMessage> inner) {
    int start = bytes.position();
    bytes.putShort((short) 0).putShort((short) type);
    inner.accept(this);
    bytes.putShort(start, (short) (bytes.position() - start));
    pad();
    return this;
  }

  private void pad() {
    while ((bytes.position() & LENGTH_MASK) != 0) {
      bytes.put((byte) 0);
    }
  }

  byte[] bytes() {
    bytes.putInt(0, bytes.position());
    return Arrays.copyOf(content, bytes.position());
  }
}
