package dev.zlayer.host.process;

import dev.zlayer.host.linux.Environments;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A program in a PID and a mount namespace of its own, so that whatever it starts and mounts ends
 * with it, also what has left its session. It ends when it is closed, and when this process dies
 * however that happens: it is watched from inside by a process that waits for the end of its input.
 */
public final class ConfinedProcess implements AutoCloseable {
  private static final Duration END_LIMIT = Duration.ofSeconds(10);

  /** In the environment of each, so that those of a process that was killed can be found. */
  private static final String OWNER = "ZLAYER_OWNER";

  /** The first process of the namespace: the kernel kills all others when it ends. */
  private static final String FIRST =
      """
      exec 3<&0
      "$@" </dev/null 2>&1 3<&- &
      program=$!
      { cat <&3 >/dev/null; kill -KILL "$program"; } &
      wait "$program"
      """;

  private final Process process;

  private ConfinedProcess(Process process) {
    this.process = process;
  }

  /**
   * Starts one; it reads nothing.
   *
   * @param owner whom {@link #endAll} finds it by
   */
  public static ConfinedProcess start(String owner, Command command) {
    var words =
        new ArrayList<>(
            List.of("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--"));
    words.addAll(List.of("/bin/sh", "-c", FIRST, command.program()));
    words.addAll(command.arguments());
    var env = new HashMap<>(command.env());
    env.put(OWNER, owner);
    return new ConfinedProcess(Processes.start(Command.of(words).withEnv(env)));
  }

  /** Ends those that an earlier process started for this owner, and returns when they have. */
  public static void endAll(String owner) {
    List<ProcessHandle> found = Environments.having(OWNER, Set.of(owner));
    found.forEach(ProcessHandle::destroyForcibly);
    found.forEach(ConfinedProcess::await);
  }

  /** What it prints, errors too. */
  public InputStream output() {
    return process.getInputStream();
  }

  public int waitFor() throws InterruptedException {
    return process.waitFor();
  }

  /** False when it still runs at the deadline. */
  public boolean waitFor(Deadline deadline) throws InterruptedException {
    return process.waitFor(deadline.leftNanos(), TimeUnit.NANOSECONDS);
  }

  public int exitCode() {
    return process.exitValue();
  }

  /** Ends it with all that it started, and returns when they have ended. Interrupts do not help. */
  @Override
  public void close() {
    List<ProcessHandle> all =
        process.isAlive()
            ? Stream.concat(process.children(), Stream.of(process.toHandle())).toList()
            : List.of();
    try {
      process.getOutputStream().close();
    } catch (IOException _) {
      // it has ended already
    }
    all.forEach(ProcessHandle::destroyForcibly); // the first of the namespace before its parent
    all.forEach(ConfinedProcess::await);
  }

  /** Bounded, since one that nobody reaps counts as alive for ever. */
  private static void await(ProcessHandle process) {
    var _ =
        process
            .onExit()
            .completeOnTimeout(process, END_LIMIT.toMillis(), TimeUnit.MILLISECONDS)
            .join();
  }
}
