package dev.zlayer.runtime.wsl;

import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.ExecSession;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.oci.config.User;
import dev.zlayer.runtime.oci.exec.ExecExit;
import dev.zlayer.runtime.oci.exec.ExecProcess;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A further process in a container, on three pipes through {@code wsl.exe}. */
final class WslExec implements ExecSession {
  /** Ends a process if it is one of the container's: the number may be another's by now. */
  private static final String END =
      """
      pid=$(cat "$1" 2>/dev/null) || exit 0
      if grep -qsF -e "$2" "/proc/$pid/cgroup"; then kill -9 "$pid" || true; fi
      """;

  private static final Duration PID_PAUSE = Duration.ofMillis(5);

  private final WslContext context;
  private final ContainerState state;
  private final Path directory;
  private final Process process;

  private WslExec(WslContext context, ContainerState state, Path directory, Process process) {
    this.context = context;
    this.state = state;
    this.directory = directory;
    this.process = process;
  }

  static WslExec start(WslContext context, ContainerState state, ExecSpec spec)
      throws IOException, InterruptedException {
    if (spec.terminal()) {
      throw new AgentException.Unsupported(
          "runtime 'wsl': a terminal: Windows cannot hand one to a process of a distribution");
    }
    Json config = JsonText.parse(Files.readAllBytes(state.directory().config()));
    Optional<User> user = Optional.empty();
    if (spec.user().isPresent()) {
      var inside = new WslRoots(context.shell(), context.places()).look(context.place(state));
      user = Optional.of(inside.users().lookup(spec.user().get(), List.of()));
    }
    Json process =
        ExecProcess.of(config.at("process"), spec, user, context.host().facts().capabilities());
    Files.createDirectories(state.directory().execs());
    Path directory = Files.createTempDirectory(state.directory().execs(), "exec");
    Files.write(directory.resolve("process.json"), JsonText.bytes(process));
    Path inside = Path.of(context.places().inside(directory));
    Process started =
        Processes.start(
            context
                .runtime()
                .exec(
                    state.name(),
                    inside.resolve("process.json"),
                    inside.resolve("pid"),
                    inside.resolve("log")));
    if (!spec.stdin()) {
      started.getOutputStream().close();
    }
    return new WslExec(context, state, directory, started);
  }

  /** Ends what runs for an agent that is no more; its streams lead nowhere. */
  static void endAbandoned(WslContext context, ContainerState state)
      throws IOException, InterruptedException {
    if (!Files.isDirectory(state.directory().execs())) {
      return;
    }
    List<Path> abandoned;
    try (Stream<Path> paths = Files.list(state.directory().execs())) {
      abandoned = paths.toList();
    }
    for (Path directory : abandoned) {
      end(context, state, directory);
    }
  }

  private static void end(WslContext context, ContainerState state, Path directory)
      throws IOException, InterruptedException {
    context
        .shell()
        .run(
            END,
            context.places().inside(directory.resolve("pid")),
            context.cgroup(state).directory());
    Trees.remove(directory);
  }

  @Override
  public OutputStream stdin() {
    return process.getOutputStream();
  }

  @Override
  public InputStream stdout() {
    return process.getInputStream();
  }

  @Override
  public InputStream stderr() {
    return process.getErrorStream();
  }

  @Override
  public void resize(int rows, int columns) {}

  @Override
  public ExitStatus await(Deadline deadline) throws InterruptedException {
    if (!process.waitFor(deadline.leftNanos(), TimeUnit.NANOSECONDS)) {
      throw new AgentException.Timeout("running a command in a container", deadline.limit());
    }
    return ExecExit.of(process.exitValue(), log());
  }

  private String log() {
    try {
      return Files.readString(directory.resolve("log"));
    } catch (IOException _) {
      return ""; // the runtime had nothing to say
    }
  }

  /** A process that is only on its way cannot be ended: until then its number is not known. */
  private void awaitPid() throws InterruptedException {
    Deadline deadline = Deadline.after(context.settings().toolLimit());
    while (process.isAlive() && !Files.exists(directory.resolve("pid")) && !deadline.passed()) {
      Pauses.REAL.pause(PID_PAUSE);
    }
  }

  @Override
  public void close() {
    boolean interrupted = Thread.interrupted();
    try {
      if (process.isAlive()) {
        awaitPid();
        end(context, state, directory);
        process.destroyForcibly();
      } else {
        Trees.remove(directory);
      }
    } catch (InterruptedException _) {
      interrupted = true;
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot end a command in a container: " + e.getMessage(), e);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
