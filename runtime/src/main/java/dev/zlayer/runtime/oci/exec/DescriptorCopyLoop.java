package dev.zlayer.runtime.oci.exec;

import dev.zlayer.host.linux.OwnedDescriptor;
import java.io.IOException;

/**
 * Reads a descriptor to its end on a thread of its own and hands every piece on. Whoever receives
 * may block; then reading pauses.
 */
final class DescriptorCopyLoop {
  private static final int BUFFER = 64 << 10;

  /** Takes what was read; called by one thread, at the end with {@link #ended}. */
  interface Sink {
    void received(byte[] bytes, int length) throws IOException;

    void ended();
  }

  private DescriptorCopyLoop() {}

  static void start(String name, OwnedDescriptor from, Sink sink) {
    Thread.ofPlatform().daemon().name(name).start(() -> copy(from, sink));
  }

  private static void copy(OwnedDescriptor from, Sink sink) {
    var buffer = new byte[BUFFER];
    try {
      int count = from.read(buffer);
      while (count > 0) {
        sink.received(buffer, count);
        count = from.read(buffer);
      }
    } catch (IOException _) {
      // a terminal whose last user is gone fails to be read, and a receiver may have left: the end
    } finally {
      from.close();
      sink.ended();
    }
  }
}
