package dev.zlayer.image;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A Java process that runs {@link PullProgram}. */
final class PullProcess implements AutoCloseable {
  private final Process process;
  private final BufferedReader output;

  PullProcess(List<String> javaOptions, Path directory, String image, String... rest) {
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(javaOptions);
    command.addAll(
        List.of(
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            PullProgram.class.getName(),
            directory.toString(),
            image));
    command.addAll(List.of(rest));
    process = Processes.start(Command.of(command));
    output = process.inputReader(StandardCharsets.UTF_8);
  }

  /** The next line it prints; what it complained about when it ends instead. */
  String line() throws IOException {
    String line = output.readLine();
    return line != null
        ? line
        : new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
  }

  /** {@code kill -9}. */
  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  @Override
  public void close() throws InterruptedException {
    kill();
  }
}
