package dev.zlayer.engine.job;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.engine.init.StepReport;
import dev.zlayer.error.AgentException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * One try of an execution.
 *
 * @param number counted from 1
 * @param prepared the number of the container made ahead that it was given
 * @param runningAt when the main process was about to start
 * @param steps what the init steps reported, newest last
 * @param notes what could not be kept of it, for people
 * @param elsewhere it did not begin, and another node may be able to run it
 */
public record Attempt(
    int number,
    Optional<Long> prepared,
    Instant startedAt,
    Optional<Instant> runningAt,
    Optional<Instant> finishedAt,
    Optional<ExitStatus> exit,
    Optional<String> error,
    List<StepReport> steps,
    Output output,
    List<Artifact> artifacts,
    List<String> notes,
    boolean elsewhere) {
  /** Reports beyond these are dropped from the front, so that a retrying step stays small. */
  private static final int MOST_STEPS = 200;

  /** Bytes of output that are kept, and bytes that there were. */
  public record Output(long kept, long total) {
    public static final Output NONE = new Output(0, 0);

    public boolean truncated() {
      return kept < total;
    }
  }

  /** A path that was kept, as a tar archive of that many bytes. */
  public record Artifact(String path, String file, long bytes) {}

  public Attempt {
    steps = List.copyOf(steps);
    artifacts = List.copyOf(artifacts);
    notes = List.copyOf(notes);
  }

  static Attempt begun(int number, Instant now) {
    return new Attempt(
        number,
        Optional.empty(),
        now,
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        List.of(),
        Output.NONE,
        List.of(),
        List.of(),
        false);
  }

  Attempt running(Optional<Long> prepared, Instant now) {
    return new Attempt(
        number,
        prepared,
        startedAt,
        Optional.of(now),
        finishedAt,
        exit,
        error,
        steps,
        output,
        artifacts,
        notes,
        elsewhere);
  }

  Attempt withdrawn() {
    return begun(number, startedAt);
  }

  Attempt with(StepReport step) {
    var all = new ArrayList<>(steps);
    all.removeIf(step::replaces);
    all.add(step);
    return new Attempt(
        number,
        prepared,
        startedAt,
        runningAt,
        finishedAt,
        exit,
        error,
        all.subList(Math.max(0, all.size() - MOST_STEPS), all.size()),
        output,
        artifacts,
        notes,
        elsewhere);
  }

  Attempt ended(AttemptEnd end, Instant now) {
    return new Attempt(
        number,
        prepared,
        startedAt,
        runningAt,
        Optional.of(end.outcome().flatMap(outcome -> outcome.finishedAt()).orElse(now)),
        end.outcome().map(outcome -> outcome.status()),
        end.reason(),
        steps,
        end.output(),
        end.artifacts(),
        end.notes(),
        end.outcome().isEmpty() && end.error().filter(AgentException::elsewhere).isPresent());
  }

  /** Bytes that retention counts. */
  public long bytes() {
    return output.kept() + artifacts.stream().mapToLong(Artifact::bytes).sum();
  }
}
