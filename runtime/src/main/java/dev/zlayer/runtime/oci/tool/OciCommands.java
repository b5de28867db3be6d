package dev.zlayer.runtime.oci.tool;

import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.UnixPath;
import dev.zlayer.host.linux.ControlGroup;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.host.process.SealedProgram;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Backoff;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The verbs of the OCI runtime, each one process with a deadline. */
public final class OciCommands implements AutoCloseable {
  private static final Backoff FREEZE_BACKOFF =
      new Backoff(Duration.ofMillis(20), Duration.ofMillis(500), 2);
  private static final Duration GROUP_TIMEOUT = Duration.ofSeconds(2);
  private static final Duration GROUP_PAUSE = Duration.ofMillis(10);

  private final Path program;
  private final Optional<SealedProgram> sealed;
  private final Path root;
  private final boolean systemd;
  private final Duration limit;
  private final Reach reach;
  private final Optional<DirectVerbs> direct;
  private final boolean sendsTerminals;
  private final boolean reportsExits;

  /** How the place where containers run is reached from here. */
  public interface Reach {
    /** It is here. */
    Reach HERE =
        new Reach() {
          @Override
          public Command there(Command command) {
            return command;
          }

          @Override
          public boolean exists(Path there) {
            return Files.exists(there);
          }
        };

    /** A command here that does there what the given one does. */
    Command there(Command command);

    /** Whether something is at a path of that place. */
    boolean exists(Path there) throws InterruptedException;
  }

  /**
   * Nothing is run yet.
   *
   * @param sealed the runtime, as it is started instead of {@code program}
   * @param root where the runtime keeps what it knows
   * @param dialect the runtime's, where we may do its simple verbs
   * @param sendsTerminals see {@link OciTool#sendsTerminals}
   * @param limit bounds every call
   */
  public OciCommands(
      Path program,
      Optional<SealedProgram> sealed,
      Path root,
      boolean systemd,
      Optional<Dialect> dialect,
      boolean sendsTerminals,
      Duration limit) {
    this(program, sealed, root, systemd, dialect, sendsTerminals, limit, Reach.HERE);
  }

  /** The same for containers that run elsewhere; paths are those of that place. */
  public OciCommands(Path program, Path root, boolean systemd, Duration limit, Reach reach) {
    this(program, Optional.empty(), root, systemd, Optional.empty(), false, limit, reach);
  }

  private OciCommands(
      Path program,
      Optional<SealedProgram> sealed,
      Path root,
      boolean systemd,
      Optional<Dialect> dialect,
      boolean sendsTerminals,
      Duration limit,
      Reach reach) {
    this.reach = reach;
    this.sendsTerminals = sendsTerminals;
    this.reportsExits = dialect.filter(Dialect.RUNC::equals).isPresent();
    this.program = program;
    this.sealed = sealed;
    this.root = root;
    this.systemd = systemd;
    this.limit = limit;
    this.direct = dialect.map(known -> new DirectVerbs(known, program, root));
  }

  public Path program() {
    return program;
  }

  public boolean sendsTerminals() {
    return sendsTerminals;
  }

  /**
   * Whether its exec gains by finding the lock of control groups taken. Not runc: whose process is
   * attached at once loses its soft limit of open files, which runc sets before Go has raised that
   * of the process to the hard one.
   */
  public boolean attachesAtOnce() {
    return sendsTerminals;
  }

  public boolean systemd() {
    return systemd;
  }

  public Duration limit() {
    return limit;
  }

  /** The options that come before every verb. */
  public List<String> options() {
    var options = new ArrayList<>(List.of("--root", UnixPath.text(root)));
    if (systemd) {
      options.add("--systemd-cgroup");
    }
    return options;
  }

  /** Whether the runtime holds anything for this container; asks the disk only. */
  public boolean knows(String name) throws InterruptedException {
    return reach.exists(root.resolve(name));
  }

  /** Lets a created container run by the verb, as hooks and processes out of sight need it. */
  public void start(String name) throws ToolFailed, InterruptedException {
    check("start", name);
  }

  /**
   * Lets a created container run.
   *
   * @param first its process, which waits
   * @param released is told between the moment from which it runs and that from which this is known
   */
  public void start(String name, ProcessIdentity first, Runnable released)
      throws ToolFailed, InterruptedException {
    if (direct.isPresent() && direct.get().release(name, first, Deadline.after(limit))) {
      released.run();
      direct.get().released(name);
    } else {
      check("start", name);
      released.run();
    }
  }

  /** Whether a created container was let go, although perhaps nobody got to know. */
  public boolean runs(String name, ProcessIdentity first) throws ToolFailed, InterruptedException {
    if (state(name).equals("running")) {
      return true;
    }
    if (direct.isPresent() && first.alive() && !waits(first)) {
      direct.get().released(name);
      return true;
    }
    return false;
  }

  /** Whether a first process still is the runtime's own and not yet the container's program. */
  public boolean waits(ProcessIdentity first) throws ToolFailed {
    return direct.isPresent() && direct.get().waits(first);
  }

  /** Takes what is left of a container; kills it first if it runs. Does nothing if unknown. */
  public void delete(String name) throws ToolFailed, InterruptedException {
    if (knows(name)) {
      check("delete", "--force", name);
    }
  }

  /** Like {@link #delete}, for a container that has ended and has no hooks, or was never made. */
  public void forget(String name, ControlGroup group) throws ToolFailed, InterruptedException {
    if (knows(name)) {
      if (!systemd && direct.isPresent() && direct.get().forget(name, group)) {
        return;
      }
      delete(name);
    }
    removeLeft(name, group);
  }

  /**
   * A runtime that failed to create a container leaves its group and knows nothing of it, and one
   * that deletes a container gives up its group when the kernel is slow to let go of a process.
   */
  private static void removeLeft(String name, ControlGroup group)
      throws ToolFailed, InterruptedException {
    Deadline patience = Deadline.after(GROUP_TIMEOUT);
    try {
      while (!group.remove()) {
        if (patience.passed()) {
          throw new ToolFailed("there are still processes in the control group of " + name);
        }
        Pauses.REAL.pause(GROUP_PAUSE);
      }
    } catch (IOException e) {
      throw new ToolFailed(
          "the control group of %s cannot be removed: %s".formatted(name, e.getMessage()));
    }
  }

  /** Signals every process of the container, also those outside a pid namespace of its own. */
  public void killAll(String name, Signal signal) throws ToolFailed, InterruptedException {
    check("kill", "--all", name, Integer.toString(signal.number()));
  }

  /** Signals the first process; false when it does not run. */
  public boolean kill(String name, Signal signal) throws InterruptedException {
    Command command = command(List.of("kill", name, Integer.toString(signal.number())));
    return knows(name) && Processes.run(command, Deadline.after(limit)).success();
  }

  /** What it uses, as the runtime prints it. */
  public Json stats(String name) throws ToolFailed, InterruptedException {
    return json(check(command(List.of("events", "--stats", name)), "events"), "events");
  }

  /**
   * Freezes all its processes. On cgroup v1 a runtime gives up after some milliseconds when one of
   * them forks or is in the kernel, which on a busy host says nothing about the next attempt.
   */
  public void pause(String name) throws ToolFailed, InterruptedException {
    Deadline deadline = Deadline.after(limit);
    for (int attempt = 0; ; attempt++) {
      try {
        check("pause", name);
        if (sendsTerminals) {
          awaitFrozen(name, deadline);
        }
        return;
      } catch (ToolFailed e) {
        Duration pause = FREEZE_BACKOFF.delay(attempt);
        if (!e.reason().contains("unable to freeze") || deadline.left().compareTo(pause) <= 0) {
          throw e;
        }
        Pauses.REAL.pause(pause);
      }
    }
  }

  /** crun on cgroup v1 has only asked the kernel to freeze them. */
  private void awaitFrozen(String name, Deadline deadline) throws ToolFailed, InterruptedException {
    for (int attempt = 0; state(name).equals("running"); attempt++) {
      if (deadline.passed()) {
        resume(name);
        throw new ToolFailed("the processes of " + name + " do not freeze");
      }
      Pauses.REAL.pause(FREEZE_BACKOFF.delay(attempt));
    }
  }

  public void resume(String name) throws ToolFailed, InterruptedException {
    check("resume", name);
  }

  public void update(String name, Json resources) throws ToolFailed, InterruptedException {
    Command command =
        command(List.of("update", "--resources", "-", name)).withInput(JsonText.bytes(resources));
    check(command, "update");
  }

  /** As the OCI runtime calls it: created, running, paused, stopped; or nothing known. */
  public String state(String name) throws ToolFailed, InterruptedException {
    if (!knows(name)) {
      return "unknown";
    }
    CommandResult result = check(command(List.of("state", name)), "state");
    return json(result, "state").at("status").string().orElse("unknown");
  }

  /**
   * A further process; {@code log} receives what the runtime itself has to say. That of runc also
   * has how the process ended: runc stays as long as anybody holds the output of the process.
   */
  public Command exec(String name, Path process, Path pidFile, Path log) {
    return exec(name, process, pidFile, log, Optional.empty());
  }

  /** The same; {@code console} is the socket to send its terminal to. */
  public Command exec(String name, Path process, Path pidFile, Path log, Optional<Path> console) {
    var arguments = new ArrayList<>(List.of(UnixPath.text(program)));
    arguments.addAll(options());
    if (reportsExits) {
      arguments.add("--debug");
    }
    arguments.addAll(
        List.of(
            "--log",
            UnixPath.text(log),
            "--log-format",
            "json",
            "exec",
            "--process",
            UnixPath.text(process),
            "--pid-file",
            UnixPath.text(pidFile)));
    console.ifPresent(
        socket -> arguments.addAll(List.of("--console-socket", UnixPath.text(socket))));
    arguments.add(name);
    return reach.there(Command.of(arguments).withSealed(sealed));
  }

  private Json json(CommandResult result, String verb) throws ToolFailed {
    try {
      return JsonText.parse(result.stdoutBytes());
    } catch (AgentException.InvalidSpec e) {
      throw new ToolFailed("%s %s printed what is %s".formatted(program, verb, e.getMessage()));
    }
  }

  private void check(String... verb) throws ToolFailed, InterruptedException {
    check(command(List.of(verb)), verb[0]);
  }

  private CommandResult check(Command command, String verb)
      throws ToolFailed, InterruptedException {
    CommandResult result = Processes.run(command, Deadline.after(limit));
    if (!result.success()) {
      throw ToolFailed.of(command, verb, result);
    }
    return result;
  }

  private Command command(List<String> verb) {
    var arguments = new ArrayList<>(List.of(UnixPath.text(program)));
    arguments.addAll(options());
    arguments.addAll(verb);
    return reach.there(Command.of(arguments).withSealed(sealed));
  }

  /** Afterwards the runtime is started from disk. */
  @Override
  public void close() {
    sealed.ifPresent(SealedProgram::close);
  }
}
