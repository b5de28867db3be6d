package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.file.Path;

/** Reports that somebody has opened a file; several at once are one report. */
public final class OpenWatch implements AutoCloseable {
  private static final int IN_OPEN = 0x20;
  private static final int IN_NONBLOCK = 0x800;
  private static final int IN_CLOEXEC = 0x80000;
  private static final int BUFFER = 4096;

  private final OwnedDescriptor events;
  private final Runnable opened;
  private boolean closed; // guarded by this
  private long key; // guarded by this

  private OpenWatch(OwnedDescriptor events, Runnable opened) {
    this.events = events;
    this.opened = opened;
  }

  /** {@code opened} is called on a thread of all, so it must not wait. */
  public static OpenWatch open(Path file, Runnable opened) throws IOException {
    try (var kernel = new KernelCalls()) {
      long number = kernel.call(Syscall.INOTIFY_INIT1, IN_NONBLOCK | IN_CLOEXEC, 0, 0, 0);
      if (number < 0) {
        throw kernel.failure("watch", KernelCalls.raw(file));
      }
      var watch = new OpenWatch(new OwnedDescriptor((int) number), opened);
      try {
        long place = kernel.first(KernelCalls.raw(file)).address();
        if (kernel.call(Syscall.INOTIFY_ADD_WATCH, number, place, IN_OPEN, 0) < 0) {
          throw kernel.failure("watch", KernelCalls.raw(file));
        }
        watch.await();
        return watch;
      } catch (IOException e) {
        watch.close();
        throw e;
      }
    }
  }

  private synchronized void await() throws IOException {
    key = ProcessOutput.loop().add(events, this::report);
  }

  private void report() {
    try {
      synchronized (this) {
        if (closed) {
          return;
        }
        ProcessOutput.loop().remove(key, events);
        byte[] buffer = new byte[BUFFER];
        while (events.readSome(buffer, 0, buffer.length) > 0) {
          // what is in it is known
        }
        await();
      }
      opened.run();
    } catch (IOException _) {
      close(); // nothing depends on it
    }
  }

  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      try {
        ProcessOutput.loop().remove(key, events);
      } catch (IOException _) {
        // it was not waited for
      }
      events.close();
    }
  }
}
