package dev.zlayer.daemon;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;

/** A daemon in a process of its own. */
final class ChildDaemon implements AutoCloseable {
  private final Process process;

  private ChildDaemon(Process process) {
    this.process = process;
  }

  /** Returns when it answers. */
  static ChildDaemon start(Node node) {
    return start(node, Map.of());
  }

  /** With variables besides those of this process. */
  static ChildDaemon start(Node node, Map<String, String> env) {
    var command =
        new ArrayList<>(
            List.of(
                ProcessHandle.current().info().command().orElse("java"),
                "-XX:+UseSerialGC",
                "-Xmx256m",
                "-XX:+ExitOnOutOfMemoryError",
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                DaemonProcess.class.getName()));
    node.flags.forEach((key, value) -> command.add(key + "=" + value));
    Process process =
        Processes.start(
            Command.of(command).withEnv(env), node.directory.resolve("daemon.log").toFile());
    var child = new ChildDaemon(process);
    Awaitility.await()
        .pollInterval(Duration.ofMillis(20))
        .atMost(Duration.ofSeconds(60))
        .until(() -> child.answers(node));
    return child;
  }

  private boolean answers(Node node) throws InterruptedException {
    if (!process.isAlive()) {
      throw new AssertionError(
          "the daemon ended with %d:\n%s".formatted(process.exitValue(), log(node)));
    }
    try (Rest rest = node.rest()) {
      return rest.get("/ping").status() == 200;
    } catch (AgentException.Network _) {
      return false;
    }
  }

  private static String log(Node node) {
    try {
      return Files.readString(node.directory.resolve("daemon.log"));
    } catch (IOException e) {
      return e.toString();
    }
  }

  long pid() {
    return process.pid();
  }

  /** Its exit code, once it has ended by itself. */
  int ended() throws InterruptedException {
    if (!process.waitFor(30, TimeUnit.SECONDS)) {
      throw new AssertionError("the daemon does not end");
    }
    return process.exitValue();
  }

  /** As the kernel does when memory runs out: no hook, no goodbye. */
  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  /** Returns its exit code. */
  int terminate() throws InterruptedException {
    process.destroy();
    return ended();
  }

  @Override
  public void close() throws InterruptedException {
    kill();
  }
}
