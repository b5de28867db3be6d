package dev.zlayer.testkit.wasm;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** Writes modules byte by byte, also such as no compiler writes. */
public final class RawModule {
  private static final int FUNCTION_TYPE = 0x60;
  private static final int END = 0x0b;

  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  /** Begins one. */
  public static RawModule begin() {
    var made = new RawModule();
    made.add(0, 'a', 's', 'm', 1, 0, 0, 0);
    return made;
  }

  /** A part of one: a section's content. */
  public static RawModule part() {
    return new RawModule();
  }

  /**
   * Type 0 without parameters and results, that many functions of it, all with this body, and the
   * first exported as the start.
   */
  public static byte[] ofFunctions(int functions, RawModule body) {
    RawModule types = part().add(1, FUNCTION_TYPE, 0, 0);
    RawModule declared = part().number(functions);
    RawModule code = part().number(functions);
    for (int i = 0; i < functions; i++) {
      declared.add(0);
      code.number(body.bytes.size()).add(body);
    }
    return begin()
        .section(1, types)
        .section(3, declared)
        .section(7, part().add(1).name("_start").add(0, 0))
        .section(10, code)
        .bytes();
  }

  /** Locals of a function: that many runs, each of that many i64. */
  public static RawModule locals(int runs, int each) {
    RawModule made = part().number(runs);
    for (int i = 0; i < runs; i++) {
      made.number(each).add(0x7e);
    }
    return made;
  }

  public RawModule add(int... values) {
    for (int value : values) {
      bytes.write(value);
    }
    return this;
  }

  public RawModule add(RawModule part) {
    bytes.writeBytes(part.bytes.toByteArray());
    return this;
  }

  public RawModule repeat(int times, int... values) {
    for (int i = 0; i < times; i++) {
      add(values);
    }
    return this;
  }

  public RawModule number(long value) {
    long left = value;
    do {
      int part = (int) (left & 0x7f);
      left >>>= 7;
      bytes.write(left == 0 ? part : part | 0x80);
    } while (left != 0);
    return this;
  }

  public RawModule name(String text) {
    byte[] utf = text.getBytes(StandardCharsets.UTF_8);
    number(utf.length);
    bytes.writeBytes(utf);
    return this;
  }

  public RawModule end() {
    return add(END);
  }

  public RawModule section(int id, RawModule content) {
    return add(id).number(content.bytes.size()).add(content);
  }

  public byte[] bytes() {
    return bytes.toByteArray();
  }
}
