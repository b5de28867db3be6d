package dev.zlayer.engine.service;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Blame;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Something that went wrong, as it is shown.
 *
 * @param kind the name of the kind, see {@link AgentException#kind}
 * @param message for people; of a signal to the scheduler word by word
 * @param exitCode of the process, as a shell would show it
 * @param lastLines what the container printed last
 */
public record Failure(
    String kind,
    Blame blame,
    String message,
    OptionalInt exitCode,
    List<String> lastLines,
    Instant at) {
  /** What a shell shows for a process whose end nobody saw. */
  private static final int UNKNOWN = 255;

  public Failure {
    lastLines = List.copyOf(lastLines);
  }

  /** Whether another node may be able to run it; a GPU that is in use is free in a while. */
  public boolean elsewhere() {
    return blame == Blame.PLACEMENT
        && !kind.equals(AgentException.GpuSharingUnavailable.class.getSimpleName());
  }

  /** As {@link #of(AgentException, Instant)}, with what was being done. */
  public static Failure of(AgentException error, Optional<String> phase, Instant at) {
    Failure plain = of(error, at);
    // a signal to the scheduler is passed on word by word
    return phase.isEmpty() || error.blame() == Blame.PLACEMENT
        ? plain
        : new Failure(
            plain.kind(),
            plain.blame(),
            phase.get() + " failed: " + plain.message(),
            plain.exitCode(),
            plain.lastLines(),
            at);
  }

  public static Failure of(AgentException error, Instant at) {
    return switch (error) {
      case AgentException.UnexpectedExit exit ->
          new Failure(
              error.kind(),
              error.blame(),
              "exited with code " + exit.code(),
              OptionalInt.of(exit.code()),
              exit.lastLines(),
              at);
      case AgentException.StartFailed start ->
          new Failure(
              error.kind(),
              error.blame(),
              firstLine(error),
              OptionalInt.empty(),
              start.lastLines(),
              at);
      default ->
          new Failure(error.kind(), error.blame(), text(error), OptionalInt.empty(), List.of(), at);
    };
  }

  /** A process that should have kept running has ended. */
  public static Failure exited(
      String container, ExitStatus exit, List<String> lastLines, Instant at) {
    return exited(container, exit.text(), exit.exitCode(), lastLines, at);
  }

  /** The same when the reason is not only how the process ended. */
  public static Failure exited(
      String container, String reason, OptionalInt code, List<String> lastLines, Instant at) {
    var error = new AgentException.UnexpectedExit(container, code.orElse(UNKNOWN), lastLines);
    return new Failure(error.kind(), error.blame(), reason, code, error.lastLines(), at);
  }

  private static String text(AgentException error) {
    return String.valueOf(error.getMessage());
  }

  /** The last lines follow the message; here they are apart. */
  private static String firstLine(AgentException error) {
    return text(error).lines().findFirst().orElse("").replace("; last output:", "");
  }
}
