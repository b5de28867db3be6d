package dev.zlayer.daemon.docker;

import dev.zlayer.container.ContainerDetails;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.Outcome;
import dev.zlayer.daemon.standalone.HealthResult;
import dev.zlayer.daemon.standalone.StandaloneContainers;
import dev.zlayer.engine.health.HealthStatus;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.Container;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.runtime.oci.exec.ExecExit;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What is known of one container at one moment, before it is written in the shapes of Docker.
 *
 * @param asked what it was made from, empty for one that was made otherwise; read when asked for
 * @param image that it was made from, if it is still there
 * @param changed asks the store for the labels that say what follows its end
 */
record ContainerFacts(
    String id,
    String name,
    ContainerDetails details,
    Supplier<Json> asked,
    Optional<ImageDetails> image,
    Optional<HealthStatus> health,
    List<HealthResult> checks,
    Supplier<Map<String, String>> changed) {
  static final String NEVER = "0001-01-01T00:00:00Z";
  private static final int UNKNOWN = 255;
  private static final int NOT_STARTED = 128;

  static ContainerFacts of(
      Container container, DockerImageIndex images, StandaloneContainers standalone) {
    ContainerDetails details = container.inspect();
    return of(container, details, image(details, images), standalone);
  }

  static Optional<ImageDetails> image(ContainerDetails details, DockerImageIndex images) {
    return images.find(details.spec().image().toString()).map(DockerImageIndex.Found::details);
  }

  /** The same for who has some of it already. */
  static ContainerFacts of(
      Container container,
      ContainerDetails details,
      Optional<ImageDetails> image,
      StandaloneContainers standalone) {
    return new ContainerFacts(
        DockerContainerIndex.id(container),
        ContainerNames.of(container),
        details,
        new Request(details),
        image,
        standalone.health(details.id()),
        standalone.healthResults(details.id()),
        () -> standalone.labels(details));
  }

  Json request() {
    return asked.get();
  }

  /** Reads what a container was made from once. */
  private static final class Request implements Supplier<Json> {
    private final ContainerDetails details;
    private @Nullable Json parsed;

    Request(ContainerDetails details) {
      this.details = details;
    }

    @Override
    public Json get() {
      Json known = parsed;
      if (known == null) {
        String text = details.spec().labels().get(DockerCreate.REQUEST);
        known = text == null ? Json.Null.INSTANCE : JsonText.parse(text);
        parsed = known;
      }
      return known;
    }
  }

  /** What follows its end, as labels. */
  Map<String, String> rules() {
    return changed.get();
  }

  /** As its maker wrote it, else as people write it. */
  String imageName() {
    return request().at("Image").string().orElseGet(() -> details.spec().image().familiar());
  }

  String imageId() {
    return image
        .map(known -> known.config().toString())
        .orElseGet(() -> details.imageDigest().map(Object::toString).orElse(""));
  }

  /** Those of its maker; for one of a deployment those that compose gives as well. */
  Map<String, String> labels() {
    var labels = new LinkedHashMap<String, String>();
    image.ifPresent(known -> labels.putAll(known.run().labels()));
    labels.putAll(labels(details.id(), details.spec().labels()));
    return labels;
  }

  /** The same without those of its image. */
  static Map<String, String> labels(ContainerId id, Map<String, String> recorded) {
    var labels = new LinkedHashMap<>(recorded);
    labels.keySet().removeIf(name -> name.startsWith(DockerCreate.OWN));
    if (!StandaloneContainers.standalone(id)) {
      labels.put("com.docker.compose.project", id.deployment());
      labels.put("com.docker.compose.service", id.service());
      labels.put("com.docker.compose.container-number", Integer.toString(id.replica()));
      labels.put("com.docker.compose.oneoff", "False");
      labels.put("com.zlayer.deployment", id.deployment());
    }
    return labels;
  }

  /** As Docker calls the network that it is on: {@code bridge} is the usual one. */
  String network() {
    return switch (details.spec().network().mode()) {
      case NetworkSpec.Mode.Bridge(var name) -> name.orElse("bridge");
      case NetworkSpec.Mode.Host() -> "host";
      case NetworkSpec.Mode.None() -> "none";
      case NetworkSpec.Mode.Shared(var with) -> "container:" + with.runtimeName();
    };
  }

  String networkMode() {
    return request()
        .at("HostConfig")
        .at("NetworkMode")
        .string()
        .filter(mode -> !mode.isEmpty() && !mode.equals("default"))
        .orElseGet(this::network);
  }

  String state() {
    return switch (details.status()) {
      case ContainerStatus.Created _, ContainerStatus.Prepared _ -> "created";
      case ContainerStatus.Running _, ContainerStatus.Stopping _ -> "running";
      case ContainerStatus.Paused _ -> "paused";
      case ContainerStatus.Exited(Outcome outcome) ->
          outcome.startedAt().isEmpty() ? "created" : "exited";
      case ContainerStatus.Removed _ -> "removing";
      case ContainerStatus.Unknown _ -> "dead";
    };
  }

  Optional<Outcome> outcome() {
    return details.status() instanceof ContainerStatus.Exited(Outcome outcome)
        ? Optional.of(outcome)
        : Optional.empty();
  }

  Optional<Instant> startedAt() {
    return switch (details.status()) {
      case ContainerStatus.Running running -> Optional.of(running.startedAt());
      case ContainerStatus.Paused paused -> Optional.of(paused.startedAt());
      case ContainerStatus.Stopping stopping -> Optional.of(stopping.startedAt());
      case ContainerStatus.Exited(Outcome outcome) -> outcome.startedAt();
      case ContainerStatus.Created _,
          ContainerStatus.Prepared _,
          ContainerStatus.Removed _,
          ContainerStatus.Unknown _ ->
          Optional.empty();
    };
  }

  int exitCode() {
    return outcome().map(end -> exitCode(end.status())).orElse(0);
  }

  /** The code that clients get; a process that could not be started has one as in a shell. */
  static int exitCode(ExitStatus status) {
    return switch (status) {
      case ExitStatus.RuntimeError(String reason) ->
          ExecExit.notStarted(reason.lines().findFirst().orElse("")).orElse(NOT_STARTED);
      default -> status.exitCode().orElse(UNKNOWN);
    };
  }
}
