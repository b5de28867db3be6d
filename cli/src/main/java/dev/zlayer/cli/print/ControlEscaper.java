package dev.zlayer.cli.print;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/**
 * Makes the output of a container harmless for a terminal: what would move the cursor, set the
 * title or send keys is shown as text, such as {@code \\x1b}. Text, tabs and colours pass. One
 * object per stream, since characters and sequences may be torn between two pieces.
 */
final class ControlEscaper {
  private static final int LONGEST_SEQUENCE = 64;
  private static final int ESCAPE = 0x1b;
  private static final int DELETE = 0x7f;

  private enum State {
    TEXT,
    RETURN,
    ESCAPE,
    SEQUENCE,
    CHARACTER
  }

  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream begun = new ByteArrayOutputStream();
  private State state = State.TEXT;
  private int missing;
  private boolean coloured;

  /** What may be printed now; {@code lineEnd} when the line ends behind these bytes. */
  byte[] print(byte[] bytes, boolean lineEnd) {
    out.reset();
    for (byte one : bytes) {
      take(one & 0xff);
    }
    if (lineEnd) {
      finish();
    }
    return out.toByteArray();
  }

  /** Whether colours are still as the container set them. */
  boolean coloured() {
    return coloured;
  }

  /** What was held back, when nothing more comes. */
  byte[] end() {
    return print(new byte[0], true);
  }

  private void finish() {
    if (state == State.RETURN) {
      out.writeBytes(begun.toByteArray()); // a line that ends as on other systems
      begun.reset();
      state = State.TEXT;
    } else {
      giveUp();
    }
  }

  private void take(int value) {
    switch (state) {
      case TEXT -> text(value);
      case RETURN -> {
        giveUp();
        text(value);
      }
      case ESCAPE -> {
        if (value == '[') {
          begun.write(value);
          state = State.SEQUENCE;
        } else {
          giveUp();
          text(value);
        }
      }
      case SEQUENCE -> sequence(value);
      case CHARACTER -> character(value);
    }
  }

  private void text(int value) {
    if (value == ESCAPE || value == '\r') {
      hold(value, value == ESCAPE ? State.ESCAPE : State.RETURN);
    } else if (value == '\t' || (value >= ' ' && value < DELETE)) {
      out.write(value);
    } else if (value >= 0xc2 && value <= 0xf4) {
      missing = value >= 0xf0 ? 3 : value >= 0xe0 ? 2 : 1;
      hold(value, State.CHARACTER);
    } else {
      escape(value);
    }
  }

  private void hold(int value, State next) {
    begun.write(value);
    state = next;
  }

  private void sequence(int value) {
    begun.write(value);
    if (value == 'm') {
      byte[] colour = begun.toByteArray();
      String parameters = new String(colour, 2, colour.length - 3, StandardCharsets.US_ASCII);
      coloured = !parameters.matches("0*");
      out.writeBytes(colour);
      begun.reset();
      state = State.TEXT;
    } else if (!((value >= '0' && value <= '9') || value == ';' || value == ':')
        || begun.size() > LONGEST_SEQUENCE) {
      giveUp();
    }
  }

  private void character(int value) {
    if (value < 0x80 || value > 0xbf) {
      giveUp();
      text(value);
      return;
    }
    begun.write(value);
    if (--missing > 0) {
      return;
    }
    String character = begun.toString(StandardCharsets.UTF_8);
    boolean harmless =
        character.codePointCount(0, character.length()) == 1
            && TerminalText.escapeLine(character).equals(character)
            && character.codePointAt(0) != 0xfffd;
    if (harmless) {
      out.writeBytes(begun.toByteArray());
      begun.reset();
      state = State.TEXT;
    } else {
      giveUp();
    }
  }

  private void giveUp() {
    byte[] held = begun.toByteArray();
    begun.reset();
    state = State.TEXT;
    for (byte one : held) {
      int value = one & 0xff;
      if (value >= ' ' && value < DELETE) {
        out.write(value);
      } else {
        escape(value);
      }
    }
  }

  private void escape(int value) {
    String shown = value == '\r' ? "\\r" : "\\x%02x".formatted(value);
    out.writeBytes(shown.getBytes(StandardCharsets.US_ASCII));
  }
}
