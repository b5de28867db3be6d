package dev.zlayer.cli.terminal;

import java.io.IOException;
import java.io.InputStream;

/**
 * Reads standard input on a thread of its own and hands over what comes. Reading a terminal cannot
 * be interrupted, so the thread is one that does not keep the process alive.
 */
public final class KeyboardLoop {
  private static final int CHUNK = 4096;

  private final InputStream in;
  private final Receiver receiver;

  private KeyboardLoop(InputStream in, Receiver receiver) {
    this.in = in;
    this.receiver = receiver;
  }

  /** Who gets what was typed. */
  public interface Receiver {
    /** Whether more is wanted. */
    boolean keys(byte[] bytes, int length) throws IOException;

    /** Standard input has ended. */
    void end() throws IOException;
  }

  public static void start(InputStream in, Receiver receiver) {
    var loop = new KeyboardLoop(in, receiver);
    Thread.ofPlatform().daemon().name("keyboard").start(loop::run);
  }

  private void run() {
    var chunk = new byte[CHUNK];
    try {
      int count = in.read(chunk);
      while (count >= 0 && receiver.keys(chunk, count)) {
        count = in.read(chunk);
      }
      if (count < 0) {
        receiver.end();
      }
    } catch (IOException _) {
      // the far end is gone; the one who reads its answers says so
    }
  }
}
