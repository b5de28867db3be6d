package dev.zlayer.host.linux;

import dev.zlayer.host.file.Announcement;
import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.concurrent.Semaphore;

/**
 * Spares those who put a process into a control group a long wait. The kernel guards that by a lock
 * whose first taker after a pause waits until every processor has passed a quiet point, which takes
 * ten to thirty milliseconds on an idle machine; whoever comes soon after does not wait. So as soon
 * as it is known that an OCI runtime will want the lock, it is taken here, by moving this process
 * to the group it is in.
 *
 * <p>Owns one thread of the operating system, because the wait is in the kernel.
 */
public final class CgroupWarmer implements AutoCloseable {
  private static final System.Logger LOG = LazyLogger.of(CgroupWarmer.class);

  private final Optional<Path> processes;
  private final Semaphore wanted = new Semaphore(0);
  private final Thread thread;
  private Optional<OpenWatch> watch = Optional.empty();

  private CgroupWarmer(Optional<Path> processes) {
    this.processes = processes;
    this.thread = Thread.ofPlatform().daemon().name("attach-ahead").unstarted(this::run);
  }

  /** Does nothing where this process cannot find its own group. */
  public static CgroupWarmer open(Cgroups groups) {
    var loop = new CgroupWarmer(ownProcesses(groups));
    if (loop.processes.isPresent()) {
      loop.thread.start();
    }
    return loop;
  }

  private static Optional<Path> ownProcesses(Cgroups groups) {
    try {
      return groups.of(ProcessHandle.current().pid()).processesFile();
    } catch (IOException _) {
      return Optional.empty();
    }
  }

  /** The same whenever somebody opens the file that {@link Announcement} makes for a socket. */
  public void listen(Path socket) {
    try {
      watch = Optional.of(OpenWatch.open(Announcement.make(socket), this::soon));
    } catch (IOException e) {
      LOG.log(
          System.Logger.Level.INFO,
          "commands in containers are not prepared for ahead: {0}",
          e.getMessage());
    }
  }

  /** A process will be put into a group soon; returns at once. */
  public void soon() {
    wanted.release();
  }

  private void run() {
    try {
      while (true) {
        wanted.acquire();
        wanted.drainPermits();
        boolean _ = take();
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt(); // closed
    }
  }

  /** False when it was refused; even then the lock was taken, and else things are only slower. */
  boolean take() {
    String own = Long.toString(ProcessHandle.current().pid());
    try {
      Files.writeString(processes.orElseThrow(), own, StandardOpenOption.WRITE);
      return true;
    } catch (IOException _) {
      return false;
    }
  }

  @Override
  public void close() {
    watch.ifPresent(OpenWatch::close);
    thread.interrupt();
  }
}
