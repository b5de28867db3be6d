package dev.zlayer.container;

import dev.zlayer.error.AgentException;
import java.io.ByteArrayOutputStream;
import java.util.Arrays;

/**
 * Finds the keys by which a person leaves an attached terminal in what was typed. Keys that might
 * begin them are held back until the next one decides. Owned by the thread that reads the keys.
 */
public final class DetachKeys {
  /** Those of Docker and of our own command line. */
  public static final String USUAL = "ctrl-p,ctrl-q";

  private final byte[] keys;
  private int matched;

  private DetachKeys(byte[] keys) {
    this.keys = keys;
  }

  /** Reads keys such as {@code ctrl-p,ctrl-q} or {@code a,b,c}. */
  public static DetachKeys parse(String text) {
    String[] words = text.split(",", -1);
    var keys = new byte[words.length];
    for (int i = 0; i < words.length; i++) {
      String word = words[i];
      if (word.length() == 1) {
        keys[i] = (byte) word.charAt(0);
      } else if (word.matches("ctrl-[a-z@\\[\\\\\\]^_]")) {
        keys[i] = (byte) (Character.toUpperCase(word.charAt(5)) - '@');
      } else {
        // scripts look for these words of Docker
        throw new AgentException.InvalidSpec("Invalid detach keys (%s) provided".formatted(text));
      }
    }
    return new DetachKeys(keys);
  }

  /**
   * What to pass on of the keys that came.
   *
   * @param detach the last of the keys was pressed; nothing after it is passed on
   */
  @SuppressWarnings("ArrayRecordComponent") // bytes to hand over, never compared
  public record Passed(byte[] bytes, boolean detach) {}

  public Passed pass(byte[] typed, int length) {
    var passed = new ByteArrayOutputStream();
    for (int i = 0; i < length; i++) {
      giveUp(typed[i], passed);
      if (typed[i] != keys[matched]) {
        passed.write(typed[i]);
      } else if (++matched == keys.length) {
        matched = 0;
        return new Passed(passed.toByteArray(), true);
      }
    }
    return new Passed(passed.toByteArray(), false);
  }

  /** Passes on as much of what was held back as cannot begin the keys with the next one. */
  private void giveUp(byte next, ByteArrayOutputStream passed) {
    while (matched > 0 && keys[matched] != next) {
      int left = matched - 1;
      while (left > 0 && !Arrays.equals(keys, matched - left, matched, keys, 0, left)) {
        left--;
      }
      passed.write(keys, 0, matched - left);
      matched = left;
    }
  }
}
