package dev.zlayer.depend;

import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import dev.zlayer.spec.service.DependsSpec;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** Whether a service may start, given what the others tell. Pure. */
public final class DependencyCheck {
  /** The answer. */
  public sealed interface Verdict {
    /** It may; the warnings tell what it did not wait for any longer. */
    record Open(List<String> warnings) implements Verdict {
      public Open {
        warnings = List.copyOf(warnings);
      }
    }

    /** Not yet; {@code until} is when waiting ends. */
    record Waiting(String forWhat, Instant until) implements Verdict {}

    /** It may not. */
    record Closed(AgentException reason) implements Verdict {}
  }

  private DependencyCheck() {}

  /**
   * Judges all dependencies of one service.
   *
   * @param revision what is told about an earlier revision does not count
   * @param since when it began to wait
   */
  public static Verdict judge(
      String service,
      List<DependsSpec> depends,
      Map<String, DependencyStatus> signals,
      long revision,
      Instant since,
      Instant now) {
    var warnings = new ArrayList<String>();
    var waiting = new ArrayList<DependsSpec>();
    for (DependsSpec wanted : depends) {
      Optional<DependencyStatus> signal = Optional.ofNullable(signals.get(wanted.service()));
      boolean met =
          signal
              .filter(told -> told.revision() >= revision && met(wanted.condition(), told))
              .isPresent();
      if (met) {
        continue;
      }
      boolean late = !now.isBefore(since.plus(wanted.timeout()));
      boolean tolerant = wanted.onTimeout() != DependsSpec.OnTimeout.FAIL;
      Optional<String> failed = signal.flatMap(told -> told.failed(revision));
      if (failed.isPresent() && !tolerant) {
        return new Verdict.Closed(failure(service, wanted, failed.get()));
      }
      if (!late && failed.isEmpty()) {
        waiting.add(wanted);
      } else if (!tolerant) {
        return new Verdict.Closed(
            new AgentException.DependencyTimeout(
                service, wanted.service(), word(wanted), wanted.timeout()));
      } else if (wanted.onTimeout() == DependsSpec.OnTimeout.WARN) {
        warnings.add(warning(wanted, failed));
      }
    }
    return waiting.isEmpty() ? new Verdict.Open(warnings) : waiting(waiting, since);
  }

  private static Verdict waiting(List<DependsSpec> waiting, Instant since) {
    String text =
        String.join(
            ", ",
            waiting.stream()
                .map(wanted -> "%s to be %s".formatted(wanted.service(), word(wanted)))
                .toList());
    Instant until =
        waiting.stream()
            .map(wanted -> since.plus(wanted.timeout()))
            .min(Instant::compareTo)
            .orElse(since);
    return new Verdict.Waiting(text, until);
  }

  private static boolean met(DependsSpec.Condition condition, DependencyStatus signal) {
    return switch (condition) {
      case STARTED -> signal.started();
      case HEALTHY -> signal.healthy();
      case READY -> signal.ready();
      case COMPLETED -> signal.completed();
    };
  }

  /** Named and final, so that nobody has to look for the cause elsewhere. */
  private static AgentException failure(String service, DependsSpec wanted, String reason) {
    return new AgentException.StartFailed(
        service,
        "it depends on '%s' to be %s, which failed: %s"
            .formatted(wanted.service(), word(wanted), reason),
        List.of());
  }

  private static String warning(DependsSpec wanted, Optional<String> failed) {
    String why =
        failed
            .map(reason -> "it failed: " + reason)
            .orElseGet(() -> "not within " + Durations.print(wanted.timeout()));
    return "went on without '%s' being %s: %s".formatted(wanted.service(), word(wanted), why);
  }

  private static String word(DependsSpec wanted) {
    return wanted.condition().name().toLowerCase(Locale.ROOT);
  }
}
