package dev.zlayer.cli.print;

import dev.zlayer.container.Signal;
import dev.zlayer.error.Blame;
import dev.zlayer.json.Json;

/** How a process ended: as words, and as the code that a shell would show. */
public final class Outcomes {
  private static final int SIGNAL_BASE = 128;

  private Outcomes() {}

  /** The container's own code; one that nobody knows is a failure of the workload. */
  public static int exitCode(Json outcome) {
    if (outcome.at("code").integer().isPresent()) {
      return Math.toIntExact(outcome.at("code").integer().get());
    }
    if (outcome.at("oom").bool().orElse(false)) {
      return SIGNAL_BASE + Signal.KILL.number();
    }
    return outcome
        .at("signal")
        .string()
        .or(() -> outcome.at("signal").integer().map(String::valueOf))
        .map(name -> SIGNAL_BASE + Signal.parse(name).number())
        .orElse(Blame.WORKLOAD.exitCode());
  }

  public static String text(Json outcome) {
    if (outcome.at("oom").bool().orElse(false)) {
      return "killed: out of memory (memory limit exceeded)";
    }
    if (outcome.at("code").integer().isPresent()) {
      return "exited with code " + outcome.at("code").integer().get();
    }
    return outcome
        .at("signal")
        .string()
        .or(() -> outcome.at("signal").integer().map(String::valueOf))
        .map(name -> "killed by " + Signal.parse(name).signalName())
        .or(() -> outcome.at("reason").string())
        .orElse("exited, status unknown");
  }
}
