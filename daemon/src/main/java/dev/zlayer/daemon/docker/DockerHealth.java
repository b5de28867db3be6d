package dev.zlayer.daemon.docker;

import dev.zlayer.daemon.standalone.ContainerHealth;
import dev.zlayer.engine.health.Probe;
import dev.zlayer.json.Json;
import dev.zlayer.spec.service.HealthCheck;
import dev.zlayer.spec.service.HealthSpec;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;

/** How the health of a container is checked, by its request and its image. */
final class DockerHealth {
  private static final Duration USUAL = Duration.ofSeconds(30);
  private static final Duration USUAL_START_INTERVAL = Duration.ofSeconds(5);

  private DockerHealth() {}

  /** What a request says, and where it says nothing the image. */
  static Json merged(Json request, Json image) {
    Json asked = request.at("Healthcheck");
    var merged = new LinkedHashMap<>(image.members());
    asked
        .members()
        .forEach(
            (name, value) -> {
              if (!CreateFields.zero(value)) {
                merged.put(name, value);
              }
            });
    return new Json.Obj(merged);
  }

  /** Empty when nothing is checked. */
  static Optional<ContainerHealth> of(Json check) {
    List<String> test = check.at("Test").strings();
    if (test.isEmpty() || test.getFirst().isEmpty() || test.getFirst().equals("NONE")) {
      return Optional.empty();
    }
    List<String> command =
        switch (test.getFirst()) {
          case "CMD" -> test.subList(1, test.size());
          case "CMD-SHELL" ->
              List.of("/bin/sh", "-c", String.join(" ", test.subList(1, test.size())));
          default ->
              throw DockerError.badRequest(
                  "Unknown healthcheck type '%s': write NONE, CMD or CMD-SHELL"
                      .formatted(test.getFirst()));
        };
    Duration interval = nanos(check, "Interval", USUAL);
    Duration startPeriod = nanos(check, "StartPeriod", Duration.ZERO);
    return Optional.of(
        ContainerHealth.of(
                new Probe.Command(command),
                new HealthSpec(
                    new HealthCheck.None(),
                    // Docker checks first after an interval, the agent at once and often: only
                    // what fails after that time counts
                    startPeriod.plus(interval),
                    interval,
                    nanos(check, "Timeout", USUAL),
                    check.at("Retries").integer().filter(count -> count > 0).orElse(3L).intValue(),
                    HealthSpec.OnUnhealthy.NONE))
            .startingEvery(
                startPeriod.isZero()
                    ? interval
                    : nanos(check, "StartInterval", USUAL_START_INTERVAL)));
  }

  private static Duration nanos(Json json, String name, Duration standard) {
    long nanos = json.at(name).integer().orElse(0L);
    if (nanos != 0 && nanos < 1_000_000) {
      throw DockerError.badRequest("%s in Healthcheck cannot be less than 1ms".formatted(name));
    }
    return nanos == 0 ? standard : Duration.ofNanos(nanos);
  }
}
