package dev.zlayer.daemon.docker;

import java.util.Arrays;
import java.util.Optional;

/** Finds the keys in what a client types by which it leaves. Owned by one thread. */
final class DetachKeys {
  private static final byte[] USUAL = {16, 17}; // ctrl-p, ctrl-q

  private final byte[] keys;
  private int matched;

  private DetachKeys(byte[] keys) {
    this.keys = keys;
  }

  /** Reads {@code ctrl-p,ctrl-q}; the usual ones when absent. */
  static DetachKeys parse(Optional<String> text) {
    return new DetachKeys(text.map(DetachKeys::bytes).orElse(USUAL));
  }

  private static byte[] bytes(String text) {
    String[] words = text.split(",", -1);
    var keys = new byte[words.length];
    for (int i = 0; i < words.length; i++) {
      String word = words[i];
      if (word.length() == 1) {
        keys[i] = (byte) word.charAt(0);
      } else if (word.matches("ctrl-[a-z@\\[\\\\\\]^_]")) {
        keys[i] = (byte) (Character.toUpperCase(word.charAt(5)) - '@');
      } else {
        throw DockerError.badRequest("Invalid detach keys (%s) provided".formatted(text));
      }
    }
    return keys;
  }

  /**
   * What to pass on of what was typed; empty when the last of the keys was pressed. Keys that might
   * begin the sequence are held back until the next one.
   */
  Optional<byte[]> pass(byte[] typed, int length) {
    var passed = new byte[length + keys.length];
    int count = 0;
    for (int i = 0; i < length; i++) {
      if (typed[i] == keys[matched]) {
        matched++;
        if (matched == keys.length) {
          return Optional.empty();
        }
      } else {
        System.arraycopy(keys, 0, passed, count, matched);
        count += matched;
        matched = typed[i] == keys[0] && keys.length > 1 ? 1 : 0;
        if (matched == 0) {
          passed[count++] = typed[i];
        }
      }
    }
    return Optional.of(Arrays.copyOf(passed, count));
  }
}
