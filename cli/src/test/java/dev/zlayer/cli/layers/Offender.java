package dev.zlayer.cli.layers;

import java.lang.foreign.Arena;
import java.time.Instant;

/** Does everything that is fenced in, so that a test can see the fences hold. Never run. */
final class Offender {
  private Offender() {}

  static void offend() throws Exception {
    new ProcessBuilder("true").start();
    Arena.ofAuto().allocate(1);
    Thread.ofVirtual().start(() -> {});
    Thread.sleep(Instant.now().toEpochMilli() + System.nanoTime());
    System.out.println(System.getenv("HOME"));
  }
}
