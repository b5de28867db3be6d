package dev.zlayer.host.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import java.nio.file.Path;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class DirectoryLockTest {
  @TempDir Path directory;

  @Test
  void hasOneHolderInThisProcess() {
    Path file = directory.resolve("data").resolve("lock");
    try (var _ = DirectoryLock.take(file)) {
      assertThatThrownBy(() -> DirectoryLock.take(file))
          .isInstanceOf(AgentException.Configuration.class)
          .hasMessageContaining("in use by process " + ProcessHandle.current().pid());
    }
    DirectoryLock.take(file).close();
  }

  /** Takes the lock and holds it until killed. */
  public static final class Holder {
    public static void main(String[] arguments) throws Exception {
      try (var _ = DirectoryLock.take(Path.of(arguments[0]))) {
        System.out.println("held");
        System.in.read();
      }
    }
  }

  @Test
  void anotherProcessIsNamedAndItsDeathFreesTheLock() throws Exception {
    Path file = directory.resolve("lock");
    Process holder =
        Processes.start(
            Command.of(
                    ProcessHandle.current().info().command().orElseThrow(),
                    "-cp",
                    System.getProperty("java.class.path"),
                    Holder.class.getName(),
                    file.toString())
                .withEnv(Map.of()));
    try {
      assertThat(holder.inputReader().readLine()).isEqualTo("held");
      assertThatThrownBy(() -> DirectoryLock.take(file))
          .hasMessageContaining("in use by process " + holder.pid());
    } finally {
      holder.destroyForcibly();
    }
    holder.waitFor();
    Awaitility.await()
        .ignoreExceptionsInstanceOf(AgentException.class) // while the kernel ends the process
        .untilAsserted(() -> DirectoryLock.take(file).close());
  }
}
