package dev.zlayer.host.linux;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Waits for the end of any of many processes, which need not be children. One thread calls {@link
 * #next}; the others may add and close at any time.
 */
public final class ExitPoll implements AutoCloseable {
  private final ReadyPoll poll;
  private final Map<Long, PidFd> watched = new ConcurrentHashMap<>();

  private ExitPoll(ReadyPoll poll) {
    this.poll = poll;
  }

  public static ExitPoll open() throws IOException {
    return new ExitPoll(ReadyPoll.open());
  }

  /** Takes the handle over and reports {@code key}, which is not 0, once its process has ended. */
  public void add(long key, PidFd process) throws IOException {
    watched.put(key, process);
    poll.add(key, process.descriptor());
  }

  /** Blocks until processes have ended and returns their keys; empty after {@link #wake}. */
  public List<Long> next() throws IOException {
    var ended = new ArrayList<Long>();
    for (long key : poll.next()) {
      PidFd process = watched.remove(key);
      if (process != null) {
        poll.remove(process.descriptor());
        process.close();
        ended.add(key);
      }
    }
    return ended;
  }

  /** Makes the thread in {@link #next} return. */
  public void wake() throws IOException {
    poll.wake();
  }

  @Override
  public void close() {
    watched.values().forEach(PidFd::close);
    watched.clear();
    poll.close();
  }
}
