package dev.zlayer.cli.terminal;

import java.io.ByteArrayOutputStream;

/**
 * Finds ^P^Q among the keys. A ^P is held back until the next key tells what it was. Pure but for
 * that one remembered key; owned by the thread that reads the keyboard.
 */
public final class DetachKeys {
  private static final int CTRL_P = 0x10;
  private static final int CTRL_Q = 0x11;

  private boolean pending;

  /**
   * What to pass on of the keys that came.
   *
   * @param detach the person wants to leave; nothing after that is passed on
   */
  @SuppressWarnings("ArrayRecordComponent") // bytes to hand over, never compared
  public record Passed(byte[] bytes, boolean detach) {}

  public Passed pass(byte[] keys, int length) {
    var passed = new ByteArrayOutputStream();
    for (int i = 0; i < length; i++) {
      if (pending && keys[i] == CTRL_Q) {
        return new Passed(passed.toByteArray(), true);
      }
      if (pending) {
        passed.write(CTRL_P);
      }
      pending = keys[i] == CTRL_P;
      if (!pending) {
        passed.write(keys[i]);
      }
    }
    return new Passed(passed.toByteArray(), false);
  }
}
