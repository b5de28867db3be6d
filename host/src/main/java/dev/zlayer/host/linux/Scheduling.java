package dev.zlayer.host.linux;

import dev.zlayer.host.process.Command;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** How soon the kernel lets a process run among others that could. */
public final class Scheduling {
  private static final int SCHED_OTHER = 0;
  private static final int SCHED_FIFO = 1;
  private static final Path CHRT = Path.of("/usr/bin/chrt");
  private static final int SCHED_RESET_ON_FORK = 0x40000000;
  private static final Libc.Function SET = Libc.bind("sched_setscheduler");

  private Scheduling() {}

  /**
   * A command that starts the same program and lets it run before all usual ones whenever it can;
   * its children are usual ones. From its first moment, since what it does may be over before
   * anybody could see that it has started. The same command where that is not permitted.
   */
  public static Command first(Command command) {
    if (!permitted()) {
      return command;
    }
    var arguments = new ArrayList<>(List.of(CHRT.toString(), "--reset-on-fork", "--fifo", "1"));
    arguments.addAll(command.arguments());
    return command.withArguments(arguments);
  }

  private static boolean permitted() {
    if (!Files.isExecutable(CHRT) || !set(0, SCHED_FIFO, 1)) {
      return false;
    }
    return set(0, SCHED_OTHER, 0);
  }

  /** Takes back {@link #first}. */
  public static boolean usual(long pid) {
    return set(pid, SCHED_OTHER, 0);
  }

  private static boolean set(long pid, int policy, int priority) {
    try (var call = Libc.call()) {
      MemorySegment parameter = call.allocate(Integer.BYTES);
      parameter.set(ValueLayout.JAVA_INT, 0, priority);
      return SET.call(call, pid, policy | SCHED_RESET_ON_FORK, parameter.address()) == 0;
    }
  }
}
