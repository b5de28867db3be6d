package dev.zlayer.testkit.fake;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * What the labels of a container ask of the fake runtime. Without any it runs until it is told to
 * end, and every signal ends it as the kernel would.
 *
 * <ul>
 *   <li>{@code fake.exit=3}: ends with this code
 *   <li>{@code fake.signal=SEGV}: ends by this signal
 *   <li>{@code fake.oom=true}: ends out of memory
 *   <li>{@code fake.after=250ms}: ends that long after its start (at once without it)
 *   <li>{@code fake.log=line\nline}: prints these at its start; {@code stderr:} before a line sends
 *       it there
 *   <li>{@code fake.ignore-term=true}: only SIGKILL ends it
 *   <li>{@code fake.on.TERM=5}: the signal makes it end with this code
 *   <li>{@code fake.fail=start}: this step fails ({@code create}, {@code start}, {@code stop},
 *       {@code remove}, several with commas); {@code pull} makes create fail like a runtime that
 *       pulls on its own; {@code fake.fail.times=2} lets the third try succeed
 *   <li>{@code fake.ip=10.0.0.1}: has this address; without it none
 *   <li>{@code fake.exec=1}: the code of every exec, unless the world has a handler
 * </ul>
 */
record FakeBehaviour(
    Optional<ExitStatus> ending,
    Duration after,
    List<String> log,
    boolean ignoreTerm,
    Map<Signal, Integer> handlers,
    Set<String> failing,
    int failTimes,
    int execCode) {
  private static final Pattern DURATION = Pattern.compile("(\\d{1,9})(ms|s|m|h)");
  private static final Set<String> STEPS =
      Set.of("create", "prepare", "start", "stop", "remove", "pull");

  static FakeBehaviour from(Map<String, String> labels) {
    Optional<Duration> after = label(labels, "after").map(FakeBehaviour::duration);
    Optional<ExitStatus> ending = ending(labels);
    if (ending.isEmpty() && after.isPresent()) {
      ending = Optional.of(new ExitStatus.Code(0));
    }
    return new FakeBehaviour(
        ending,
        after.orElse(Duration.ZERO),
        label(labels, "log").map(text -> List.of(text.split("\n", -1))).orElse(List.of()),
        label(labels, "ignore-term").map(Boolean::parseBoolean).orElse(false),
        handlers(labels),
        label(labels, "fail").map(FakeBehaviour::steps).orElse(Set.of()),
        label(labels, "fail.times").map(FakeBehaviour::number).orElse(Integer.MAX_VALUE),
        label(labels, "exec").map(FakeBehaviour::number).orElse(0));
  }

  private static Optional<ExitStatus> ending(Map<String, String> labels) {
    Optional<ExitStatus> code =
        label(labels, "exit").map(text -> new ExitStatus.Code(number(text)));
    Optional<ExitStatus> signal =
        label(labels, "signal").map(text -> new ExitStatus.Signalled(Signal.parse(text)));
    Optional<ExitStatus> memory =
        label(labels, "oom").filter(Boolean::parseBoolean).map(_ -> new ExitStatus.OutOfMemory());
    return memory.or(() -> signal).or(() -> code);
  }

  private static Map<Signal, Integer> handlers(Map<String, String> labels) {
    var handlers = new LinkedHashMap<Signal, Integer>();
    labels.forEach(
        (name, value) -> {
          if (name.startsWith("fake.on.")) {
            handlers.put(Signal.parse(name.substring("fake.on.".length())), number(value));
          }
        });
    return Map.copyOf(handlers);
  }

  private static Optional<String> label(Map<String, String> labels, String name) {
    return Optional.ofNullable(labels.get("fake." + name));
  }

  private static int number(String text) {
    try {
      return Integer.parseInt(text);
    } catch (NumberFormatException e) {
      throw new AgentException.InvalidSpec("a fake label needs a number, not '" + text + "'", e);
    }
  }

  private static Duration duration(String text) {
    Matcher matcher = DURATION.matcher(text);
    if (!matcher.matches()) {
      throw new AgentException.InvalidSpec("fake.after: write 250ms or 5s, not '" + text + "'");
    }
    long amount = Long.parseLong(matcher.group(1));
    return switch (matcher.group(2)) {
      case "ms" -> Duration.ofMillis(amount);
      case "s" -> Duration.ofSeconds(amount);
      case "m" -> Duration.ofMinutes(amount);
      default -> Duration.ofHours(amount);
    };
  }

  private static Set<String> steps(String text) {
    Set<String> steps = Arrays.stream(text.split(",", -1)).collect(Collectors.toSet());
    if (!STEPS.containsAll(steps)) {
      throw new AgentException.InvalidSpec("fake.fail: write some of " + STEPS + ", not " + text);
    }
    return steps;
  }
}
