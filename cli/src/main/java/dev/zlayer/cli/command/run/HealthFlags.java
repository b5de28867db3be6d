package dev.zlayer.cli.command.run;

import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import dev.zlayer.json.Json;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** How its health is checked. */
final class HealthFlags {
  @Option(
      names = "--health-cmd",
      paramLabel = "COMMAND",
      description = "Check its health with this shell command, which exits with 0 if it works")
  @Nullable String command;

  @Option(
      names = "--health-interval",
      paramLabel = "DURATION",
      description = "Time between two checks (default: 30s)")
  @Nullable String interval;

  @Option(
      names = "--health-timeout",
      paramLabel = "DURATION",
      description = "Time limit of a check (default: 30s)")
  @Nullable String timeout;

  @Option(
      names = "--health-retries",
      paramLabel = "NUMBER",
      description = "Failures in a row that make it unhealthy (default: 3)")
  @Nullable Integer retries;

  @Option(
      names = "--health-start-period",
      paramLabel = "DURATION",
      description = "Time after the start in which failures do not count (default: 0s)")
  @Nullable String startPeriod;

  @Option(names = "--no-healthcheck", description = "Do not check its health, as by default")
  boolean none;

  void into(Json.Builder body) {
    boolean details =
        Stream.of(interval, timeout, retries, startPeriod).anyMatch(flag -> flag != null);
    if (none && (command != null || details)) {
      throw new AgentException.InvalidSpec(
          "--no-healthcheck cannot be used with other health flags");
    }
    if (command == null) {
      if (details) {
        throw new AgentException.InvalidSpec(
            "the health flags need --health-cmd; checks of images are not used");
      }
      return;
    }
    body.put(
        "health",
        Json.object()
            .put("check", Json.object().put("type", "command").put("command", command).build())
            .put("interval", duration(interval, "30s"))
            .put("timeout", duration(timeout, "30s"))
            .put("retries", Optional.ofNullable(retries).orElse(3))
            .put("start_grace", duration(startPeriod, "0s"))
            .put("on_unhealthy", "none")
            .build());
  }

  private static String duration(@Nullable String text, String usual) {
    return Durations.print(Durations.parse(text == null ? usual : text)).replace(" ", "");
  }
}
