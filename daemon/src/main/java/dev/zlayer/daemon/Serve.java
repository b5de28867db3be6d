package dev.zlayer.daemon;

import dev.zlayer.daemon.config.AgentConfig;
import dev.zlayer.daemon.config.Configured;
import dev.zlayer.daemon.log.JavaLog;
import dev.zlayer.daemon.log.JettyLog;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.task.Supervisor;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;

/**
 * Serves until the process is told to end: what {@code zlayer serve} does. The caller owns the
 * process: signals reach {@link #stop} through the shutdown hook it registers.
 */
public final class Serve {
  private final Consumer<Agent> opened;
  private final CountDownLatch told = new CountDownLatch(1);
  private final CountDownLatch ended = new CountDownLatch(1);

  public Serve() {
    this(_ -> {});
  }

  /**
   * @param opened is given the agent before it serves: for programs that add parts of their own
   */
  Serve(Consumer<Agent> opened) {
    this.opened = opened;
  }

  /**
   * Blocks until {@link #stop} was called from another thread, or an owner died too often, and
   * everything is closed.
   *
   * @param err where log lines go
   * @throws dev.zlayer.error.AgentException it could not be started, the log says which part; or it
   *     could not go on, for this reason
   */
  public void run(Configured configured, Map<String, String> env, PrintStream err)
      throws InterruptedException {
    AgentConfig config = configured.config();
    var log = new Log(err, config.logLevel(), config.logFormat(), InstantSource.system());
    JettyLog.install(log);
    JavaLog.prepare(log);
    Optional<String> failure = Optional.empty();
    try (Daemon daemon = open(configured, env, log)) {
      opened.accept(daemon.agent());
      DataDir dirs = config.directories();
      writePid(dirs.pidFile(), config.socketPath());
      log.info(
          "serving",
          Map.of(
              "socket", config.socketPath(),
              "data_dir", dirs.data(),
              "version", Version.CURRENT.version(),
              "pid", ProcessHandle.current().pid(),
              "containers", daemon.agent().runtime().list().size()));
      Notify.ready(env);
      JavaLog.install(log);
      daemon.complete();
      warn(daemon.agent(), env, log);
      Supervisor supervisor = daemon.agent().supervisor();
      supervisor.onFailure(() -> supervisor.failure().ifPresent(_ -> told.countDown()));
      try (var _ = ServiceWatchdog.start(env, supervisor)) {
        told.await();
      }
      Notify.stopping(env);
      failure = supervisor.failure();
      log.info("stopping", Map.of("reason", failure.orElse("asked to")));
      daemon.agent().shutdown().prepare(env, daemon.agent().deployments());
      Files.deleteIfExists(dirs.pidFile());
    } catch (IOException e) {
      log.warn("cannot remove the pid file", Map.of("reason", String.valueOf(e.getMessage())));
    } finally {
      ended.countDown();
    }
    log.info("stopped", Map.of());
    if (failure.isPresent()) {
      // whoever supervises this process starts it again
      throw new AgentException.Internal(failure.get());
    }
  }

  /** Only now: to learn it, programs are started, and nobody has to wait for that. */
  private static void warn(Agent agent, Map<String, String> env, Log log)
      throws InterruptedException {
    try {
      for (String problem : NodeInfo.warnings(agent, env)) {
        log.warn(problem, Map.of());
      }
    } catch (AgentException e) {
      log.warn("cannot check the firewall", Map.of("reason", String.valueOf(e.getMessage())));
    }
  }

  private static Daemon open(Configured configured, Map<String, String> env, Log log)
      throws InterruptedException {
    try (var _ = StartTimeout.begin(env)) {
      return Daemon.open(configured, env, log);
    }
  }

  /** Makes {@link #run} return, and waits until it has closed everything. */
  public void stop() {
    told.countDown();
    try {
      ended.await();
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  /** With the socket, so that whoever stops a daemon that hangs stops the one it means. */
  private static void writePid(Path file, Path socket) {
    try {
      Files.createDirectories(file.toAbsolutePath().getParent());
      AtomicFile.writeRelaxed(
          file,
          (ProcessHandle.current().pid() + "\n" + socket.toAbsolutePath() + "\n")
              .getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot write %s: %s".formatted(file, e.getMessage()), e);
    }
  }
}
