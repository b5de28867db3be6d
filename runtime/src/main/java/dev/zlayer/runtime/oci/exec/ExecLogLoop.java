package dev.zlayer.runtime.oci.exec;

import dev.zlayer.host.linux.ProcessOutput;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;

/**
 * Reads what an OCI runtime logs while it runs a command. runc waits for everybody who holds the
 * output of the command, also processes that it left in the background, and says only here how the
 * command itself ended.
 */
final class ExecLogLoop implements AutoCloseable {
  private static final int KEPT = 64 << 10;

  private final ProcessOutput log;
  private final ExecCall.ExecDir directory;
  private final StringBuilder kept = new StringBuilder();
  private final CompletableFuture<String> text = new CompletableFuture<>();
  private final CompletableFuture<Integer> exit = new CompletableFuture<>();

  private ExecLogLoop(ProcessOutput log, ExecCall.ExecDir directory) {
    this.log = log;
    this.directory = directory;
  }

  static ExecLogLoop start(ExecCall.ExecDir directory) throws IOException {
    var loop = new ExecLogLoop(ProcessOutput.open(), directory);
    Thread.ofVirtual().name("exec-log").start(loop::run);
    return loop;
  }

  /** What the runtime opens as its log. */
  Path file() throws IOException {
    return log.otherEnd().toPath();
  }

  /** The runtime has ended, and logs no more. */
  void ended(int code) {
    log.given();
    log.ended();
    exit.complete(code);
  }

  /** The code of the command as soon as it is logged, else that of the runtime. */
  CompletableFuture<Integer> exit() {
    return exit;
  }

  /** All that was logged, when the runtime has ended. */
  CompletableFuture<String> text() {
    return text;
  }

  private void run() {
    try (var reader = new BufferedReader(new InputStreamReader(log, StandardCharsets.UTF_8))) {
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        if (kept.length() + line.length() < KEPT) {
          kept.append(line).append('\n');
        }
        ExecExit.reported(line, () -> ExecCall.pid(directory)).ifPresent(exit::complete);
      }
    } catch (IOException _) {
      // it was closed: what came is what there is
    } finally {
      text.complete(kept.toString());
    }
  }

  @Override
  public void close() {
    log.close();
  }
}
