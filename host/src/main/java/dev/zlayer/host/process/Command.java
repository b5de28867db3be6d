package dev.zlayer.host.process;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A program call: argument list (never a shell line), environment and what it reads.
 *
 * @param env added to what it inherits
 * @param sealed a copy of the program to start, as long as the first argument is that program
 * @param inheritsAll it gets the whole environment of this process, not only what any program needs
 * @param input given on standard input, which is closed after it
 * @param outputLimit bytes of each stream that are kept; what is over it is drained and dropped
 */
@SuppressWarnings("ArrayRecordComponent") // input is bytes to hand over, never compared
public record Command(
    List<String> arguments,
    Map<String, String> env,
    Optional<Path> directory,
    byte[] input,
    int outputLimit,
    boolean inheritsAll,
    Optional<SealedProgram> sealed) {
  private static final int DEFAULT_OUTPUT_LIMIT = 4 << 20;
  private static final byte[] NO_INPUT = {};

  public Command {
    arguments = List.copyOf(arguments);
    env = Map.copyOf(env);
  }

  public static Command of(String... arguments) {
    return of(List.of(arguments));
  }

  public static Command of(List<String> arguments) {
    return new Command(
        arguments,
        Map.of(),
        Optional.empty(),
        NO_INPUT,
        DEFAULT_OUTPUT_LIMIT,
        false,
        Optional.empty());
  }

  public Command withArguments(List<String> arguments) {
    return new Command(arguments, env, directory, input, outputLimit, inheritsAll, sealed);
  }

  public Command withEnv(Map<String, String> env) {
    return new Command(arguments, env, directory, input, outputLimit, inheritsAll, sealed);
  }

  public Command withInput(byte[] input) {
    return new Command(arguments, env, directory, input, outputLimit, inheritsAll, sealed);
  }

  public Command in(Path directory) {
    return new Command(
        arguments, env, Optional.of(directory), input, outputLimit, inheritsAll, sealed);
  }

  /** For programs that act for the one who set the environment: credentials and the like. */
  public Command inheritingAll() {
    return new Command(arguments, env, directory, input, outputLimit, true, sealed);
  }

  /** A program of which there is a copy, perhaps. */
  public Command withSealed(Optional<SealedProgram> sealed) {
    return new Command(arguments, env, directory, input, outputLimit, inheritsAll, sealed);
  }

  /** The program's name, for messages. */
  public String program() {
    return Path.of(arguments.getFirst()).getFileName().toString();
  }
}
