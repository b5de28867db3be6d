package dev.zlayer.runtime.wsl;

import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.ExecSession;
import dev.zlayer.runtime.life.Cell;
import dev.zlayer.runtime.oci.config.User;
import dev.zlayer.runtime.oci.exec.ExecExit;
import dev.zlayer.runtime.oci.exec.ExecProcess;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
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

  private final WslShop shop;
  private final Cell cell;
  private final Path directory;
  private final Process process;

  private WslExec(WslShop shop, Cell cell, Path directory, Process process) {
    this.shop = shop;
    this.cell = cell;
    this.directory = directory;
    this.process = process;
  }

  static WslExec start(WslShop shop, Cell cell, ExecSpec spec)
      throws IOException, InterruptedException {
    if (spec.terminal()) {
      throw new AgentException.Unsupported(
          "runtime 'wsl': a terminal: Windows cannot hand one to a process of a distribution");
    }
    Json config = JsonText.parse(Files.readAllBytes(cell.directory().config()));
    Optional<User> user = Optional.empty();
    if (spec.user().isPresent()) {
      var inside = new WslRoots(shop.shell(), shop.places()).look(shop.place(cell));
      user = Optional.of(inside.users().lookup(spec.user().get(), List.of()));
    }
    Json process =
        ExecProcess.of(config.at("process"), spec, user, shop.host().facts().capabilities());
    Files.createDirectories(cell.directory().execs());
    Path directory = Files.createTempDirectory(cell.directory().execs(), "exec");
    Files.write(directory.resolve("process.json"), JsonText.bytes(process));
    Path inside = Path.of(shop.places().inside(directory));
    Process started =
        Processes.start(
            shop.runtime()
                .exec(
                    cell.name(),
                    inside.resolve("process.json"),
                    inside.resolve("pid"),
                    inside.resolve("log")));
    if (!spec.stdin()) {
      started.getOutputStream().close();
    }
    return new WslExec(shop, cell, directory, started);
  }

  /** Ends what runs for an agent that is no more; its streams lead nowhere. */
  static void endAbandoned(WslShop shop, Cell cell) throws IOException, InterruptedException {
    if (!Files.isDirectory(cell.directory().execs())) {
      return;
    }
    List<Path> abandoned;
    try (Stream<Path> paths = Files.list(cell.directory().execs())) {
      abandoned = paths.toList();
    }
    for (Path directory : abandoned) {
      end(shop, cell, directory);
    }
  }

  private static void end(WslShop shop, Cell cell, Path directory)
      throws IOException, InterruptedException {
    shop.shell()
        .run(END, shop.places().inside(directory.resolve("pid")), shop.cgroup(cell).directory());
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

  @Override
  public void close() {
    boolean interrupted = Thread.interrupted();
    try {
      if (process.isAlive()) {
        end(shop, cell, directory);
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
