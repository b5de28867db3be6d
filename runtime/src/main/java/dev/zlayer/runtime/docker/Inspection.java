package dev.zlayer.runtime.docker;

import dev.zlayer.container.ContainerDetails;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.Signal;
import dev.zlayer.json.Json;
import dev.zlayer.oci.Digest;
import dev.zlayer.runtime.lifecycle.ExitNotes;
import java.net.InetAddress;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** What the engine tells about one container. */
record Inspection(Json json) {
  ContainerStatus status() {
    Json state = json.at("State");
    OptionalLong pid =
        state
            .at("Pid")
            .integer()
            .filter(p -> p > 0)
            .map(OptionalLong::of)
            .orElse(OptionalLong.empty());
    Instant started = startedAt().orElse(Instant.EPOCH);
    String error = state.at("Error").string().orElse("");
    return switch (state.at("Status").string().orElse("")) {
      case "created" ->
          error.isEmpty() ? new ContainerStatus.Created() : new ContainerStatus.Exited(outcome());
      case "running", "restarting" -> new ContainerStatus.Running(started, pid);
      case "paused" -> new ContainerStatus.Paused(started, pid);
      case "exited", "dead", "removing" -> new ContainerStatus.Exited(outcome());
      case String other ->
          new ContainerStatus.Unknown("the engine calls its state '" + other + "'");
    };
  }

  /** How the last run ended; meaningful when it has ended. */
  Outcome outcome() {
    // the engine notes both times by itself, and a short run may seem to end before it began
    Optional<Instant> finished =
        time(json.at("State").at("FinishedAt"))
            .map(end -> startedAt().filter(start -> start.isAfter(end)).orElse(end));
    return new Outcome(exit(), startedAt(), finished);
  }

  private ExitStatus exit() {
    Json state = json.at("State");
    String error = state.at("Error").string().orElse("");
    if (!error.isEmpty()) {
      return new ExitStatus.RuntimeError(error);
    }
    int code = state.at("ExitCode").integer().orElse(0L).intValue();
    boolean memory = state.at("OOMKilled").bool().orElse(false);
    return memory && ExitNotes.killed(code) ? new ExitStatus.OutOfMemory() : exit(code);
  }

  /**
   * The engine has one number for both, in its record, its answers and its events alike; a shell
   * that repeats a signal's number is not told apart.
   */
  static ExitStatus exit(int code) {
    return ExitNotes.status(code);
  }

  Optional<Instant> startedAt() {
    return time(json.at("State").at("StartedAt"));
  }

  /** The year 1 is how the engine says never. */
  private static Optional<Instant> time(Json text) {
    try {
      return text.string()
          .map(value -> OffsetDateTime.parse(value).toInstant())
          .filter(time -> time.isAfter(Instant.EPOCH));
    } catch (DateTimeParseException _) {
      return Optional.empty();
    }
  }

  Instant createdAt() {
    return time(json.at("Created")).orElse(Instant.EPOCH);
  }

  String name() {
    return json.at("Name").string().orElse("").replaceFirst("^/", "");
  }

  Optional<Digest> image() {
    return json.at("Image").string().map(Digest::parse);
  }

  List<String> command() {
    List<String> command = new ArrayList<>();
    json.at("Path").string().ifPresent(command::add);
    command.addAll(json.at("Args").strings());
    return command;
  }

  Signal stopSignal() {
    return json.at("Config")
        .at("StopSignal")
        .string()
        .filter(text -> !text.isEmpty())
        .map(Signal::parse)
        .orElse(Signal.TERM);
  }

  boolean terminal() {
    return json.at("Config").at("Tty").bool().orElse(false);
  }

  OptionalLong memoryLimit() {
    return limit("Memory");
  }

  OptionalLong pidsLimit() {
    return limit("PidsLimit");
  }

  private OptionalLong limit(String name) {
    return json.at("HostConfig")
        .at(name)
        .integer()
        .filter(value -> value > 0)
        .map(OptionalLong::of)
        .orElse(OptionalLong.empty());
  }

  Optional<InetAddress> ip() {
    return json.at("NetworkSettings").at("Networks").members().values().stream()
        .flatMap(network -> network.at("IPAddress").string().stream())
        .filter(text -> !text.isEmpty())
        .findFirst()
        .map(Inspection::address);
  }

  List<ContainerDetails.PortBinding> ports() {
    var bindings = new ArrayList<ContainerDetails.PortBinding>();
    json.at("NetworkSettings")
        .at("Ports")
        .members()
        .forEach(
            (name, targets) ->
                targets.items().forEach(target -> bindings.add(binding(name, target))));
    return bindings;
  }

  private static ContainerDetails.PortBinding binding(String name, Json target) {
    String[] parts = name.split("/", 2);
    String host = target.at("HostIp").string().filter(text -> !text.isEmpty()).orElse("0.0.0.0");
    return new ContainerDetails.PortBinding(
        address(host),
        Integer.parseInt(target.at("HostPort").string().orElse("0")),
        Integer.parseInt(parts[0]),
        parts[parts.length - 1].equals("udp")
            ? NetworkSpec.Protocol.UDP
            : NetworkSpec.Protocol.TCP);
  }

  private static InetAddress address(String text) {
    try {
      return InetAddress.ofLiteral(text);
    } catch (IllegalArgumentException e) {
      throw new dev.zlayer.error.AgentException.Internal(
          "the engine names the address '" + text + "'", e);
    }
  }
}
