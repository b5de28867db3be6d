package dev.zlayer.testkit.fuzz;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * Changes of sound input: bits, bytes, words, cuts, repetitions. Pure.
 *
 * @param words what means something in the format, put in at any place
 */
record Damage(List<String> words) {
  private static final int LONGEST_PIECE = 600;
  private static final int MANY = 4000;

  Damage {
    words = List.copyOf(words);
  }

  /** One to eight changes. */
  byte[] apply(byte[] sound, Random random) {
    byte[] bytes = sound.clone();
    for (int i = random.nextInt(8); i >= 0 && bytes.length > 0; i--) {
      bytes = once(bytes, random.nextInt(bytes.length), random);
    }
    return bytes;
  }

  private byte[] once(byte[] bytes, int at, Random random) {
    return switch (random.nextInt(7)) {
      case 0 -> changed(bytes, at, bytes[at] ^ 1 << random.nextInt(8));
      case 1 -> changed(bytes, at, random.nextInt(256));
      case 2 -> Arrays.copyOf(bytes, at);
      case 3 -> spliced(bytes, at, word(random), 0);
      case 4 -> spliced(bytes, at, new byte[0], random.nextInt(40));
      case 5 -> {
        int end = Math.min(bytes.length, at + random.nextInt(LONGEST_PIECE));
        yield spliced(bytes, at, Arrays.copyOfRange(bytes, at, end), 0);
      }
      default ->
          random.nextInt(10) == 0 ? spliced(bytes, at, many(random), 0) : changed(bytes, at, 0);
    };
  }

  private static byte[] changed(byte[] bytes, int at, int value) {
    bytes[at] = (byte) value;
    return bytes;
  }

  private byte[] word(Random random) {
    return words.get(random.nextInt(words.size())).getBytes(StandardCharsets.UTF_8);
  }

  /** The same again and again, which shows who needs more than linear time. */
  private byte[] many(Random random) {
    byte[] word = random.nextBoolean() ? new byte[] {' '} : word(random);
    var all = new ByteArrayOutputStream();
    for (int i = random.nextInt(MANY); i > 0; i--) {
      all.writeBytes(word);
    }
    return all.toByteArray();
  }

  /** With {@code inserted} at that place, instead of so many bytes. */
  private static byte[] spliced(byte[] bytes, int at, byte[] inserted, int dropped) {
    var result = new ByteArrayOutputStream();
    result.write(bytes, 0, at);
    result.writeBytes(inserted);
    int rest = Math.min(bytes.length, at + dropped);
    result.write(bytes, rest, bytes.length - rest);
    return result.toByteArray();
  }
}
