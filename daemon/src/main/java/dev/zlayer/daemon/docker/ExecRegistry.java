package dev.zlayer.daemon.docker;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.ExecSession;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * Processes that clients want to run in containers, from the request that describes one until it is
 * forgotten after its end. Bounded: of those that have ended the oldest are forgotten first. Owns
 * the threads of processes whose output nobody reads.
 */
public final class ExecRegistry implements AutoCloseable {
  private static final int MOST = 4096;

  private final Map<String, Entry> entries = new LinkedHashMap<>();
  private final Set<Thread> threads = ConcurrentHashMap.newKeySet();

  /** One process. */
  static final class Entry {
    final String id;
    final String containerId;
    final Container container;
    final Asked asked;
    private final Consumer<ExitStatus> listener;
    private Optional<ExecSession> session = Optional.empty();
    private Optional<ExitStatus> exit = Optional.empty();
    private boolean started;

    private Entry(
        String id,
        String containerId,
        Container container,
        Asked asked,
        Consumer<ExitStatus> listener) {
      this.id = id;
      this.containerId = containerId;
      this.container = container;
      this.asked = asked;
      this.listener = listener;
    }

    synchronized Optional<ExecSession> session() {
      return session;
    }

    synchronized Optional<ExitStatus> exit() {
      return exit;
    }

    synchronized boolean running() {
      return session.isPresent() && exit.isEmpty();
    }

    synchronized boolean over() {
      return exit.isPresent();
    }

    /** Once only. */
    ExecSession start(ExecSpec spec) throws InterruptedException {
      synchronized (this) {
        if (started) {
          throw DockerError.conflict("exec command %s has already run".formatted(id));
        }
        started = true;
      }
      try {
        ExecSession opened = container.exec(spec);
        synchronized (this) {
          session = Optional.of(opened);
        }
        return opened;
      } catch (AgentException | InterruptedException e) {
        end(new ExitStatus.Code(126));
        throw e;
      }
    }

    void end(ExitStatus status) {
      synchronized (this) {
        if (exit.isPresent()) {
          return;
        }
        exit = Optional.of(status);
      }
      listener.accept(status);
    }
  }

  /** What a client asked for. */
  record Asked(
      ExecSpec spec, boolean stdin, boolean stdout, boolean stderr, Optional<String> detachKeys) {}

  /**
   * Adds one that is to be started.
   *
   * @param ended is called once, when it has ended
   */
  Entry add(
      String id, String containerId, Container container, Asked asked, Consumer<ExitStatus> ended) {
    var entry = new Entry(id, containerId, container, asked, ended);
    synchronized (entries) {
      if (entries.size() >= MOST) {
        forgetOne();
      }
      entries.put(id, entry);
    }
    return entry;
  }

  private void forgetOne() {
    for (Iterator<Entry> all = entries.values().iterator(); all.hasNext(); ) {
      Entry entry = all.next();
      if (entry.over() || !entry.container.status().alive()) {
        all.remove();
        return;
      }
    }
    throw new AgentException.Busy(
        "%d processes run in containers or wait to be started: try again later".formatted(MOST));
  }

  Entry find(String id) {
    synchronized (entries) {
      Entry entry = entries.get(id);
      if (entry == null) {
        List<Entry> meant =
            entries.values().stream().filter(one -> one.id.startsWith(id)).limit(2).toList();
        if (meant.size() != 1 || id.length() < 4) {
          throw DockerError.notFound("No such exec instance: " + id);
        }
        return meant.getFirst();
      }
      return entry;
    }
  }

  /** The ids of those that run in a container. */
  List<String> running(ContainerId container) {
    synchronized (entries) {
      var ids = new ArrayList<String>();
      for (Entry entry : entries.values()) {
        if (entry.running() && entry.container.id().equals(container)) {
          ids.add(entry.id);
        }
      }
      return ids;
    }
  }

  /** Lets a process run to its end without a reader. */
  void detach(Entry entry, ExecSession session) {
    Thread thread =
        Thread.ofVirtual()
            .name("exec-" + entry.id.substring(0, 12))
            .unstarted(
                () -> {
                  try (session) {
                    drain(session);
                    entry.end(session.await(Deadline.none()));
                  } catch (InterruptedException _) {
                    entry.end(new ExitStatus.Unknown("the agent ended"));
                  } finally {
                    threads.remove(Thread.currentThread());
                  }
                });
    threads.add(thread);
    thread.start();
  }

  /** Reads what nobody else reads, so that the process does not wait for a reader. */
  private void drain(ExecSession session) throws InterruptedException {
    try (var scope = new dev.zlayer.task.TaskScope("drain")) {
      scope.fork(() -> discard(session.stdout()));
      scope.fork(() -> discard(session.stderr()));
      scope.join();
    }
  }

  private static boolean discard(InputStream in) {
    var buffer = new byte[8192];
    try {
      while (in.read(buffer) >= 0) {
        // nobody wants it
      }
    } catch (IOException _) {
      // the process has ended
    }
    return true;
  }

  @Override
  public void close() {
    threads.forEach(Thread::interrupt);
  }
}
