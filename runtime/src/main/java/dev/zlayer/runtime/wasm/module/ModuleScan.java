package dev.zlayer.runtime.wasm.module;

import java.io.ByteArrayOutputStream;

/**
 * Reads the outline of a module before the parser does. The parser trusts the numbers in a module,
 * and allocates as much as they say; here every number has to fit the bytes that are there. Sums up
 * what heap the parsed program will take.
 */
final class ModuleScan {
  /** As the JavaScript API has it, for the locals of a function together. */
  private static final int MOST_LOCALS = 50_000;

  private static final int MOST_VALUES = 1000;
  private static final int RUN_BASE = 64 << 10;

  /** Heap per byte, as measured with the costliest content. */
  private static final int CODE = 64;

  private static final int LARGEST_BODY = 96;
  private static final int ELEMENTS = 128;
  private static final int OTHER = 64;
  private static final int LOCAL = 16;

  /** A block may leave this many values without being counted; every value is a reference. */
  private static final int FREE_VALUES = 16;

  private static final int SMALLEST_BLOCK = 3;
  private static final int VALUE = 8;

  /** What every run has of its own: globals, tables of functions. */
  private static final int RUN = 16;

  private final byte[] bytes;
  private final ByteArrayOutputStream plain;
  private int at;
  private int end;
  private long program;
  private long run = RUN_BASE;
  private long largestBody;
  private long mostValues;

  private ModuleScan(byte[] bytes) {
    this.bytes = bytes;
    this.plain = new ByteArrayOutputStream(bytes.length);
  }

  /** The outline of a module that can be parsed. */
  static ModuleScan of(byte[] module) throws InvalidModule {
    var scan = new ModuleScan(module);
    try {
      scan.sections();
    } catch (IndexOutOfBoundsException e) {
      throw new InvalidModule("the module is malformed: it ends too early", e);
    }
    return scan;
  }

  /** The module without its custom sections, which nothing here uses. */
  byte[] bytes() {
    return plain.toByteArray();
  }

  /** Heap for the program, at most. */
  long programBytes() {
    return program
        + LARGEST_BODY * largestBody
        + largestBody / SMALLEST_BLOCK * VALUE * Math.max(0, mostValues - FREE_VALUES)
        + bytes.length;
  }

  /** Heap for each run of it, at most. */
  long runBytes() {
    return run;
  }

  private void sections() throws InvalidModule {
    at = 8;
    plain.write(bytes, 0, at);
    while (at < bytes.length) {
      int start = at;
      int id = bytes[at++];
      end = bytes.length;
      int size = count();
      end = at + size;
      if (id != 0) {
        section(id);
        plain.write(bytes, start, end - start);
        program += (long) size * (id == 10 ? CODE : id == 9 ? ELEMENTS : id == 11 ? 2 : OTHER);
        run += id == 10 || id == 11 ? 0 : (long) size * RUN;
      }
      at = end;
    }
  }

  private void section(int id) throws InvalidModule {
    switch (id) {
      case 1 -> each(this::type);
      case 2 -> each(this::imported);
      case 7 -> each(this::exported);
      case 9 -> each(this::element);
      case 10 -> each(this::body);
      case 11 -> each(this::data);
      default -> {} // read entry by entry, until the bytes end
    }
  }

  private interface Entry {
    void read() throws InvalidModule;
  }

  private void each(Entry entry) throws InvalidModule {
    for (int left = count(); left > 0; left--) {
      entry.read();
    }
  }

  private void type() throws InvalidModule {
    int form = next();
    if (form == 0x50 || form == 0x4f || form == 0x4e || form == 0x5e || form == 0x5f) {
      throw new InvalidModule(
          "the module uses structs or arrays of the garbage collection proposal, which is not"
              + " supported");
    }
    if (form != 0x60) {
      throw new InvalidModule("the module is malformed: a type of unknown form " + form);
    }
    values();
    values();
  }

  private void values() throws InvalidModule {
    int values = count();
    if (values > MOST_VALUES) {
      throw new InvalidModule("a function of the module has more than 1000 parameters or results");
    }
    mostValues = Math.max(mostValues, values);
    for (int i = 0; i < values; i++) {
      value();
    }
  }

  private void value() throws InvalidModule {
    int kind = next();
    if (kind == 0x63 || kind == 0x64) {
      number(); // a reference to a type
    }
  }

  private void imported() throws InvalidModule {
    skip(count());
    skip(count());
    switch (next()) {
      case 0 -> number();
      case 1 -> {
        value();
        limits();
      }
      case 2 -> limits();
      case 3 -> {
        value();
        skip(1);
      }
      case 4 -> {
        skip(1);
        number();
      }
      default -> throw new InvalidModule("the module is malformed: an import of unknown kind");
    }
  }

  private void limits() throws InvalidModule {
    int flags = next();
    number();
    if ((flags & 1) != 0) {
      number();
    }
  }

  private void exported() throws InvalidModule {
    skip(count());
    skip(1);
    number();
  }

  private void element() throws InvalidModule {
    int flags = (int) number();
    boolean active = (flags & 1) == 0;
    if (active) {
      if ((flags & 2) != 0) {
        number();
      }
      expression();
    }
    boolean expressions = (flags & 4) != 0;
    if ((flags & 3) != 0) {
      value(); // the kind of its entries
    }
    if (expressions) {
      each(this::expression);
    } else {
      each(this::number);
    }
  }

  private void data() throws InvalidModule {
    long flags = number();
    if (flags == 2) {
      number();
    }
    if (flags != 1) {
      expression();
    }
    skip(count());
  }

  /** One whose value is known before the module runs. */
  private void expression() throws InvalidModule {
    for (int code = next(); code != 0x0b; code = next()) {
      switch (code) {
        case 0x23, 0x41, 0x42, 0xd0, 0xd2 -> number();
        case 0x43 -> skip(4);
        case 0x44 -> skip(8);
        case 0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e -> {}
        case 0xfd -> {
          number();
          skip(16);
        }
        default -> throw new InvalidModule("the module is malformed: a value that is not constant");
      }
    }
  }

  private void body() throws InvalidModule {
    int size = count();
    int next = at + size;
    largestBody = Math.max(largestBody, size);
    long locals = 0;
    for (int left = count(); left > 0; left--) {
      locals += number();
      value();
      if (locals > MOST_LOCALS) {
        throw new InvalidModule("a function of the module has more than 50000 locals");
      }
    }
    program += locals * LOCAL;
    at = next;
  }

  /** How many follow, each of at least a byte. */
  private int count() throws InvalidModule {
    long number = number();
    if (number < 0 || number > end - at) {
      throw new InvalidModule("the module is malformed: a length is beyond its section");
    }
    return (int) number;
  }

  /** Unsigned or signed: only its length and small values are of interest. */
  private long number() throws InvalidModule {
    long value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      int part = next();
      value |= shift < 63 ? (long) (part & 0x7f) << shift : 0;
      if (part < 0x80) {
        return value;
      }
    }
    throw new InvalidModule("the module is malformed: a number is too long");
  }

  private void skip(int count) throws InvalidModule {
    if (count > end - at) {
      throw new InvalidModule("the module is malformed: its section ends too early");
    }
    at += count;
  }

  private int next() throws InvalidModule {
    if (at >= end) {
      throw new InvalidModule("the module is malformed: its section ends too early");
    }
    return bytes[at++] & 0xff;
  }
}
