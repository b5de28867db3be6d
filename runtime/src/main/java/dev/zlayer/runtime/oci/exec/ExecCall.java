package dev.zlayer.runtime.oci.exec;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** One call of the OCI runtime's exec, with the directory that holds its files. */
final class ExecCall {
  private static final Signal STOP = Signal.parse("STOP");

  private final Process runtime;
  private final ExecDir directory;
  private final ExecLogLoop log;

  /** {@code log} is where the runtime logs to; it is closed when this ends. */
  ExecCall(Process runtime, ExecDir directory, ExecLogLoop log) {
    this.runtime = runtime;
    this.directory = directory;
    this.log = log;
    var _ = runtime.onExit().thenAccept(ended -> log.ended(ended.exitValue()));
  }

  /** The files of one exec. */
  record ExecDir(Path path) {
    Path process() {
      return path.resolve("process.json");
    }

    Path pid() {
      return path.resolve("pid");
    }
  }

  Process runtime() {
    return runtime;
  }

  /** With which code the command, or the runtime for it, ends. */
  CompletableFuture<Integer> exit() {
    return log.exit();
  }

  ExitStatus await(Deadline deadline) throws InterruptedException {
    try {
      int code = exit().get(deadline.leftNanos(), TimeUnit.NANOSECONDS);
      // a runtime that still runs has run the command, so its log explains nothing
      return ExecExit.of(code, runtime.isAlive() ? "" : log.text().get());
    } catch (TimeoutException _) {
      throw new AgentException.Timeout("running a command in a container", deadline.limit());
    } catch (ExecutionException e) {
      throw new IllegalStateException(e); // neither is ever completed so
    }
  }

  /** Ends the process inside if it still runs, and removes the files. */
  void end() {
    try {
      end(runtime.toHandle());
      RootedDirectory.removeTree(directory.path());
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot end a command in a container: " + e.getMessage(), e);
    } finally {
      log.close();
    }
  }

  /** The process inside is a child of the runtime, known to it before it is to any file. */
  static void end(ProcessHandle runtime) throws IOException {
    Optional<ProcessIdentity> stopped = ProcessIdentity.of(runtime.pid());
    if (!runtime.isAlive() || stopped.isEmpty()) {
      return;
    }
    stopped.get().signal(STOP.number()); // so that it starts nothing while we look
    runtime.descendants().forEach(ProcessHandle::destroyForcibly);
    stopped.get().signal(Signal.KILL.number());
  }

  static Optional<ProcessIdentity> inside(ExecDir directory) {
    return ProcessIdentity.of(pid(directory));
  }

  /** The number that the command had, 0 before it began. */
  static long pid(ExecDir directory) {
    try {
      return Long.parseLong(Files.readString(directory.pid()).strip());
    } catch (IOException | NumberFormatException _) {
      return 0;
    }
  }
}
