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
import java.util.concurrent.TimeUnit;

/** One call of the OCI runtime's exec, with the directory that holds its files. */
final class Exec {
  private static final Signal STOP = Signal.parse("STOP");

  private final Process runtime;
  private final ExecDir directory;

  Exec(Process runtime, ExecDir directory) {
    this.runtime = runtime;
    this.directory = directory;
  }

  /** The files of one exec. */
  record ExecDir(Path path) {
    Path process() {
      return path.resolve("process.json");
    }

    Path pid() {
      return path.resolve("pid");
    }

    Path log() {
      return path.resolve("log");
    }
  }

  Process runtime() {
    return runtime;
  }

  ExitStatus await(Deadline deadline) throws InterruptedException {
    if (!runtime.waitFor(deadline.leftNanos(), TimeUnit.NANOSECONDS)) {
      throw new AgentException.Timeout("running a command in a container", deadline.limit());
    }
    return ExecExit.of(runtime.exitValue(), log());
  }

  /** Ends the process inside if it still runs, and takes the files away. */
  void end() {
    try {
      end(runtime.toHandle());
      RootedDirectory.removeTree(directory.path());
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot end a command in a container: " + e.getMessage(), e);
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
    try {
      long pid = Long.parseLong(Files.readString(directory.pid()).strip());
      return ProcessIdentity.of(pid);
    } catch (IOException | NumberFormatException _) {
      return Optional.empty(); // not begun yet
    }
  }

  private String log() {
    try {
      return Files.readString(directory.log());
    } catch (IOException _) {
      return ""; // the runtime had nothing to say
    }
  }
}
