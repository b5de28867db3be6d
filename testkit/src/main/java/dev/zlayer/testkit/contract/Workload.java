package dev.zlayer.testkit.contract;

import dev.zlayer.container.Signal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What a container of a contract test does: it prints, then ends or goes on, and answers signals.
 * {@link #script} says it to a shell, {@link #labels} to the fake runtime.
 *
 * @param lines printed first; with {@code stderr:} in front they go there
 * @param exitCode with which it ends by itself; empty means never
 * @param delay before it ends
 * @param handlers signals that make it end with a code
 * @param deaf ignores SIGTERM
 * @param prompted each line but the last waits for SIGUSR1 before the next one is printed
 * @param shell a script that only a real shell can run; replaces all of the above
 */
public record Workload(
    List<String> lines,
    Optional<Integer> exitCode,
    Duration delay,
    Map<Signal, Integer> handlers,
    boolean deaf,
    boolean prompted,
    Optional<String> shell) {
  private static final String STDERR = "stderr:";

  public Workload {
    lines = List.copyOf(lines);
    handlers = Collections.unmodifiableMap(new LinkedHashMap<>(handlers));
  }

  public static Workload exitsWith(int code) {
    return new Workload(
        List.of(), Optional.of(code), Duration.ZERO, Map.of(), false, false, Optional.empty());
  }

  /** Runs until it is killed; what SIGTERM does to it is not said. */
  public static Workload sleepsForever() {
    return new Workload(
        List.of(), Optional.empty(), Duration.ZERO, Map.of(), false, false, Optional.empty());
  }

  /** Runs until the signal comes, then ends with the code. */
  public static Workload endsOn(Signal signal, int code) {
    return new Workload(
        List.of(),
        Optional.empty(),
        Duration.ZERO,
        Map.of(signal, code),
        false,
        false,
        Optional.empty());
  }

  /** Only SIGKILL ends it. */
  public static Workload ignoresTerm() {
    return new Workload(
        List.of(), Optional.empty(), Duration.ZERO, Map.of(), true, false, Optional.empty());
  }

  /** Prints and ends with 0. */
  public static Workload prints(String... lines) {
    return exitsWith(0).printing(lines);
  }

  /** For runtimes with a real shell. */
  public static Workload runs(String script) {
    return new Workload(
        List.of(), Optional.of(0), Duration.ZERO, Map.of(), false, false, Optional.of(script));
  }

  /** Prints this before anything else. */
  public Workload printing(String... lines) {
    return new Workload(List.of(lines), exitCode, delay, handlers, deaf, prompted, shell);
  }

  /** For lines on both streams, which have no order but time: see {@link Harness#printed}. */
  public Workload withPrompts() {
    return new Workload(lines, exitCode, delay, handlers, deaf, true, shell);
  }

  public Workload after(Duration delay) {
    return new Workload(lines, exitCode, delay, handlers, deaf, prompted, shell);
  }

  /**
   * For a POSIX shell that is the first process: traps are set before the first line is printed, so
   * whoever has read a line may send signals.
   */
  public String script() {
    if (shell.isPresent()) {
      return shell.get();
    }
    var script = new ArrayList<String>();
    handlers.forEach(
        (signal, code) ->
            script.add(
                "trap 'kill $! 2>/dev/null; exit %d' %s"
                    .formatted(code, signal.signalName().substring(3))));
    if (deaf) {
      script.add("trap '' TERM");
    }
    if (prompted) {
      script.add("prompts=0\ntrap 'prompts=$((prompts+1))' USR1");
    }
    for (int number = 1; number <= lines.size(); number++) {
      String line = lines.get(number - 1);
      boolean error = line.startsWith(STDERR);
      String text = error ? line.substring(STDERR.length()) : line;
      script.add("printf '%s\\n' '" + text.replace("'", "'\\''") + "'" + (error ? " >&2" : ""));
      script.add(
          prompted && number < lines.size()
              ? "while [ $prompts -lt %d ]; do sleep 0.02; done".formatted(number)
              : "sleep 0.02");
    }
    script.add(end());
    return String.join("\n", script);
  }

  private String end() {
    String pause = "sleep %d.%03d".formatted(delay.toSeconds(), delay.toMillisPart());
    return exitCode
        .map(code -> (delay.isZero() ? "" : pause + "\n") + "exit " + code)
        .orElse("while :; do sleep 1000 & wait $!; done");
  }

  /** For the fake runtime. */
  public Map<String, String> labels() {
    if (shell.isPresent()) {
      throw new IllegalStateException("a script needs a real shell: " + shell.get());
    }
    var labels = new LinkedHashMap<String, String>();
    exitCode.ifPresent(code -> labels.put("fake.exit", code.toString()));
    labels.put("fake.after", delay.toMillis() + "ms");
    if (exitCode.isEmpty()) {
      labels.remove("fake.after");
    }
    handlers.forEach((signal, code) -> labels.put("fake.on." + signal, code.toString()));
    labels.put("fake.ignore-term", Boolean.toString(deaf));
    if (!lines.isEmpty()) {
      labels.put("fake.log", String.join("\n", lines));
    }
    return labels;
  }
}
