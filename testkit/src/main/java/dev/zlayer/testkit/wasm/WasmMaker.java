package dev.zlayer.testkit.wasm;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Compiles modules; the same source is compiled once per process. */
public final class WasmMaker {
  private static final Duration TIMEOUT = Duration.ofMinutes(2);
  private static final Map<String, byte[]> MADE = new ConcurrentHashMap<>();

  private WasmMaker() {}

  /** A command from C, against WASI preview 1. */
  public static byte[] ofC(String source) {
    return MADE.computeIfAbsent(
        source,
        _ ->
            compile(
                source,
                "program.c",
                (from, to) ->
                    List.of("clang", "--target=wasm32-wasi", "-O2", "-o", to + "", from + "")));
  }

  /** A module from its text form. */
  public static byte[] ofText(String text) {
    return MADE.computeIfAbsent(
        text,
        _ ->
            compile(
                text,
                "module.wat",
                (from, to) -> List.of("wat2wasm", "--output=" + to, from + "")));
  }

  /** A program of this machine from C, to compare with. */
  public static void nativeProgram(String source, Path to) {
    try {
      Files.write(
          to,
          compile(
              source,
              "program.c",
              (from, out) -> List.of("clang", "-O2", "-o", out + "", from + "")));
      if (!to.toFile().setExecutable(true)) {
        throw new IOException("cannot make it executable");
      }
    } catch (IOException e) {
      throw new AgentException.Internal("cannot write " + to, e);
    }
  }

  private interface Compiler {
    List<String> command(Path from, Path to);
  }

  private static byte[] compile(String source, String name, Compiler compiler) {
    try {
      Path directory = Files.createTempDirectory("zlayer-wasm");
      Path from = directory.resolve(name);
      Path to = directory.resolve("out");
      try {
        Files.writeString(from, source);
        Processes.check(Command.of(compiler.command(from, to)), Deadline.after(TIMEOUT));
        return Files.readAllBytes(to);
      } finally {
        Files.deleteIfExists(from);
        Files.deleteIfExists(to);
        Files.deleteIfExists(directory);
      }
    } catch (IOException e) {
      throw new AgentException.Internal("cannot compile " + name, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AgentException.Internal("interrupted while compiling " + name, e);
    }
  }
}
