package dev.zlayer.daemon.standalone;

import dev.zlayer.container.ContainerId;
import dev.zlayer.task.Reply;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Wakes those who wait for the next run of a container. */
public final class StartSignals {
  private final Map<ContainerId, List<Next>> waiting = new HashMap<>();

  /** The next run, from the moment at which this was made. */
  public final class Next implements AutoCloseable {
    private final ContainerId id;
    private final Reply<Boolean> reply = new Reply<>();

    private Next(ContainerId id) {
      this.id = id;
    }

    /** Blocks until it was started; false when that failed, or it was removed. */
    public boolean await() throws InterruptedException {
      return reply.await();
    }

    @Override
    public void close() {
      synchronized (waiting) {
        waiting.computeIfPresent(
            id,
            (_, all) -> {
              all.remove(this);
              return all.isEmpty() ? null : all;
            });
      }
    }
  }

  public Next next(ContainerId id) {
    var next = new Next(id);
    synchronized (waiting) {
      waiting.computeIfAbsent(id, _ -> new ArrayList<>()).add(next);
    }
    return next;
  }

  void started(ContainerId id) {
    wake(id, true);
  }

  void failed(ContainerId id) {
    wake(id, false);
  }

  private void wake(ContainerId id, boolean runs) {
    synchronized (waiting) {
      List<Next> all = waiting.remove(id);
      if (all != null) {
        all.forEach(next -> next.reply.complete(runs));
      }
    }
  }
}
