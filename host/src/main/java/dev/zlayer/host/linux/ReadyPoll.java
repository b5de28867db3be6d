package dev.zlayer.host.linux;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/**
 * Waits until any of many descriptors can be read, or has come to its end. One thread calls {@link
 * #next}; the others may add and remove at any time. Descriptors stay their owners'.
 */
final class ReadyPoll implements AutoCloseable {
  private static final int EPOLL_CLOEXEC = 0x80000;
  private static final int EPOLL_CTL_ADD = 1;
  private static final int EPOLL_CTL_DEL = 2;
  private static final int EPOLLIN = 1;
  private static final int EPOLLONESHOT = 1 << 30;
  private static final int EVENTS = 64;
  private static final long WAKE = 0;
  private static final Libc.Function CREATE = Libc.bind("epoll_create1");
  private static final Libc.Function CONTROL = Libc.bind("epoll_ctl");
  private static final Libc.Function WAIT = Libc.bind("epoll_wait");
  private static final Libc.Function EVENTFD = Libc.bind("eventfd");

  /** struct epoll_event is packed on x86-64 and padded elsewhere. */
  private static final int DATA_AT =
      Machine.architecture().equals("x86_64") ? Integer.BYTES : Long.BYTES;

  private static final int EVENT_BYTES = DATA_AT + Long.BYTES;

  private final OwnedDescriptor poll;
  private final OwnedDescriptor wake;

  private ReadyPoll(OwnedDescriptor poll, OwnedDescriptor wake) {
    this.poll = poll;
    this.wake = wake;
  }

  static ReadyPoll open() throws IOException {
    try (var call = Libc.call()) {
      var poll = new OwnedDescriptor(call.check(CREATE.call(call, EPOLL_CLOEXEC), "epoll"));
      var wake = new OwnedDescriptor(call.check(EVENTFD.call(call, 0, EPOLL_CLOEXEC), "eventfd"));
      var result = new ReadyPoll(poll, wake);
      result.control(EPOLL_CTL_ADD, EPOLLIN, wake, WAKE);
      return result;
    }
  }

  /** Reports {@code key}, which is not 0, once. */
  void add(long key, OwnedDescriptor descriptor) throws IOException {
    control(EPOLL_CTL_ADD, EPOLLIN | EPOLLONESHOT, descriptor, key);
  }

  /** To be called before an added descriptor is closed or added again. */
  void remove(OwnedDescriptor descriptor) throws IOException {
    control(EPOLL_CTL_DEL, 0, descriptor, 0);
  }

  /** Blocks until descriptors are ready and returns their keys; empty after {@link #wake}. */
  List<Long> next() throws IOException {
    try (var using = poll.use();
        var call = Libc.call();
        var arena = Arena.ofConfined()) {
      MemorySegment events = arena.allocate((long) EVENT_BYTES * EVENTS, Long.BYTES);
      int count;
      do {
        count = WAIT.call(call, using.number(), events.address(), EVENTS, -1);
      } while (count < 0 && call.errnoValue() == ErrnoException.EINTR);
      call.check(count, "epoll");
      var keys = new ArrayList<Long>();
      for (int i = 0; i < count; i++) {
        long key = events.get(ValueLayout.JAVA_LONG_UNALIGNED, (long) i * EVENT_BYTES + DATA_AT);
        if (key != WAKE) {
          keys.add(key);
        }
      }
      return keys;
    }
  }

  /** Makes the thread in {@link #next} return, now and ever after. */
  void wake() throws IOException {
    wake.write(new byte[] {1, 0, 0, 0, 0, 0, 0, 0}, 0, Long.BYTES);
  }

  @Override
  public void close() {
    wake.close();
    poll.close();
  }

  private void control(int operation, int events, OwnedDescriptor target, long key)
      throws IOException {
    try (var own = poll.use();
        var using = target.use();
        var call = Libc.call()) {
      MemorySegment event = call.allocate(Long.BYTES * 2L);
      event.set(ValueLayout.JAVA_INT, 0, events);
      event.set(ValueLayout.JAVA_LONG_UNALIGNED, DATA_AT, key);
      call.check(
          CONTROL.call(call, own.number(), operation, using.number(), event.address()), "epoll");
    }
  }
}
