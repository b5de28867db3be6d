package dev.zlayer.runtime.oci.tool;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.host.file.UnixPath;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Detaching;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.runtime.log.LogFiles;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Starts conmon, the monitor that outlives the agent: it has the OCI runtime create the container,
 * keeps its output, and notes how it ended.
 *
 * <p>conmon tells the process's number over a descriptor, and only after its first process has
 * already gone. Java follows the first process only; {@link Detaching} waits for the line instead.
 * Where that cannot be used, a shell stays and passes the line on.
 */
public final class Conmon implements AutoCloseable {
  private static final String RELAY =
      "err=$1; shift; \"$@\" 3>&1 >/dev/null 2>\"$err\" </dev/null"
          + " | { IFS= read -r line; printf '%s\\n' \"$line\"; }";

  /**
   * One processor is enough for what runc does, and more make its start dearer; it is gone before
   * collecting its garbage would pay.
   */
  private static final Map<String, String> ENVIRONMENT =
      Map.of("_OCI_SYNCPIPE", "3", "GOMAXPROCS", "1", "GOGC", "off");

  private final Path program;
  private final OciCommands runtime;
  private final Optional<Detaching> detaching;

  /** One that is started elsewhere, by {@link #command}. */
  public Conmon(Path program, OciCommands runtime) {
    this(program, runtime, Optional.empty());
  }

  /** With a shell between where there is nothing to detach it with. */
  public Conmon(Path program, OciCommands runtime, Optional<Detaching> detaching) {
    this.program = program;
    this.runtime = runtime;
    this.detaching = detaching;
  }

  /** What the monitor of one container has to know. */
  public record Watch(
      String name,
      Path bundle,
      ContainerDir directory,
      LogFiles logs,
      boolean terminal,
      boolean stdin) {}

  /** Two processes of the host: the monitor, and the container's first one, not yet started. */
  public record Monitored(ProcessIdentity monitor, ProcessIdentity process) {}

  /** Blocks until the container is created under its monitor. */
  public Monitored create(Watch watch) throws ToolFailed, IOException, InterruptedException {
    Deadline deadline = Deadline.after(runtime.limit());
    long pid =
        detaching.isPresent()
            ? pid(detaching.get().run(placed(arguments(watch), watch), deadline))
            : pid(Processes.run(command(watch), deadline), watch.directory());
    return new Monitored(
        identity(monitorPid(watch.directory()), "monitor"), identity(pid, "first process"));
  }

  /** What creates the container; prints one line. Paths are those of where it runs. */
  public Command command(Watch watch) {
    var arguments = new ArrayList<>(List.of("/bin/sh", "-c", RELAY, "sh"));
    arguments.add(UnixPath.text(watch.directory().monitorErrors()));
    arguments.addAll(arguments(watch));
    return placed(arguments, watch);
  }

  private static Command placed(List<String> arguments, Watch watch) {
    return Command.of(arguments)
        .withEnv(ENVIRONMENT)
        .in(watch.directory().run()); // it notes an out-of-memory kill in its working directory
  }

  /** The number that conmon left in its file; 0 when there is none. */
  public static long monitorPid(ContainerDir directory) {
    try {
      return Long.parseLong(Files.readString(directory.monitorPid()).strip());
    } catch (IOException | NumberFormatException _) {
      return 0;
    }
  }

  private List<String> arguments(Watch watch) {
    ContainerDir directory = watch.directory();
    var arguments =
        new ArrayList<>(
            List.of(
                UnixPath.text(program),
                "--api-version",
                "1",
                "--cid",
                watch.name(),
                "--cuuid",
                watch.name(),
                "--name",
                watch.name(),
                "--runtime",
                UnixPath.text(runtime.program()),
                "--bundle",
                UnixPath.text(watch.bundle()),
                "--exit-dir",
                UnixPath.text(directory.path()),
                "--conmon-pidfile",
                UnixPath.text(directory.monitorPid()),
                "--container-pidfile",
                UnixPath.text(directory.processPid()),
                "--full-attach",
                "--log-level",
                "error"));
    arguments.addAll(watch.logs().conmonArguments());
    for (String option : runtime.options()) {
      if (!option.equals("--systemd-cgroup")) {
        arguments.add("--runtime-arg=" + option);
      }
    }
    if (runtime.systemd()) {
      arguments.add("--systemd-cgroup");
    }
    // else its warnings would be output of the container; errors it prints as well
    arguments.add("--runtime-arg=--log");
    arguments.add("--runtime-arg=" + UnixPath.text(directory.runtimeLog()));
    if (watch.terminal()) {
      // a terminal ends its input with a character, so leaving it need not
      arguments.addAll(List.of("--terminal", "--leave-stdin-open"));
    }
    if (watch.stdin()) {
      arguments.add("--stdin");
    }
    return arguments;
  }

  /**
   * The container's first process, from what the command printed; the directory is seen from here.
   */
  public long pid(CommandResult result, ContainerDir directory) throws ToolFailed {
    return pid(result.stdout().strip(), () -> errors(directory));
  }

  private long pid(CommandResult result) throws ToolFailed {
    return pid(result.stdout().strip(), result::stderr);
  }

  private long pid(String line, Supplier<String> errors) throws ToolFailed {
    Json message;
    try {
      message = line.isEmpty() ? Json.Null.INSTANCE : JsonText.parse(line);
    } catch (AgentException.InvalidSpec _) {
      throw new ToolFailed(
          "conmon printed '%s' where a process number was expected".formatted(line));
    }
    long pid = message.at("data").integer().or(() -> message.at("pid").integer()).orElse(-1L);
    if (pid <= 0) {
      throw new ToolFailed(
          message
              .at("message")
              .string()
              .map(text -> reason(text))
              .orElseGet(() -> "conmon said nothing: " + lastLine(errors.get())));
    }
    return pid;
  }

  private String reason(String text) {
    String last = text.strip().lines().reduce("", (_, line) -> line);
    String words = ToolFailed.clean(last);
    String failed = runtime.program().getFileName() + " create failed: ";
    return words.startsWith(failed) ? words : failed + words; // runc says so itself
  }

  private static String errors(ContainerDir directory) {
    try {
      return Files.readString(directory.monitorErrors());
    } catch (IOException _) {
      return "";
    }
  }

  private static String lastLine(String errors) {
    return errors.strip().lines().reduce("it printed nothing", (_, line) -> line);
  }

  private static ProcessIdentity identity(long pid, String what) throws ToolFailed {
    return ProcessIdentity.of(pid)
        .orElseThrow(() -> new ToolFailed("the %s (%d) died at once".formatted(what, pid)));
  }

  /** Leaves the monitors running. */
  @Override
  public void close() {
    detaching.ifPresent(Detaching::close);
  }
}
