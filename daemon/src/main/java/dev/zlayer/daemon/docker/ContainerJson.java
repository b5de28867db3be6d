package dev.zlayer.daemon.docker;

import dev.zlayer.container.ContainerDetails;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.IpText;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.container.Signal;
import dev.zlayer.daemon.standalone.HealthResult;
import dev.zlayer.json.Json;
import dev.zlayer.port.ImageDetails;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** A container as inspect shows it: all that clients of Docker read. */
final class ContainerJson {
  private final ContainerSummary summary;
  private final ContainerEndpoints endpoints;

  ContainerJson(ContainerSummary summary, ContainerEndpoints endpoints) {
    this.summary = summary;
    this.endpoints = endpoints;
  }

  /** {@code execs} are the ids of what else runs in it. */
  Json.Obj of(ContainerFacts facts, List<String> execs, Optional<ContainerSizes> sizes) {
    ContainerDetails details = facts.details();
    List<String> command = details.command();
    var json =
        Json.object()
            .put("Id", facts.id())
            .put("Created", details.createdAt().toString())
            .put("Path", command.isEmpty() ? "" : command.getFirst())
            .put("Args", command.isEmpty() ? List.of() : command.subList(1, command.size()))
            .put("State", state(facts))
            .put("Image", facts.imageId())
            .put("ResolvConfPath", "")
            .put("HostnamePath", "")
            .put("HostsPath", "")
            .put("LogPath", "")
            .put("Name", "/" + facts.name())
            .put("RestartCount", details.restarts())
            .put("Driver", "overlay2")
            .put("Platform", "linux")
            .put("MountLabel", "")
            .put("ProcessLabel", "")
            .put("AppArmorProfile", details.spec().security().apparmor().orElse(""))
            .put("ExecIDs", execs.isEmpty() ? null : execs)
            .put("HostConfig", HostConfigJson.of(facts))
            .put("GraphDriver", Json.object().put("Data", null).put("Name", "overlay2").build())
            .put("Mounts", summary.mounts(facts))
            .put("Config", config(facts))
            .put("NetworkSettings", networkSettings(facts));
    sizes.ifPresent(known -> json.put("SizeRw", known.changed()).put("SizeRootFs", known.root()));
    return json.build();
  }

  private static Json state(ContainerFacts facts) {
    ContainerStatus status = facts.details().status();
    Optional<ExitStatus> end = facts.outcome().map(outcome -> outcome.status());
    boolean alive = status.alive();
    long pid =
        switch (status) {
          case ContainerStatus.Running running -> running.pid().orElse(0);
          case ContainerStatus.Paused paused -> paused.pid().orElse(0);
          default -> 0;
        };
    var json =
        Json.object()
            .put("Status", facts.state())
            .put("Running", alive)
            .put("Paused", status instanceof ContainerStatus.Paused)
            .put("Restarting", false)
            .put("OOMKilled", end.filter(ExitStatus.OutOfMemory.class::isInstance).isPresent())
            .put("Dead", status instanceof ContainerStatus.Unknown)
            .put("Pid", pid)
            .put("ExitCode", facts.exitCode())
            .put("Error", end.map(ContainerJson::error).orElse(""))
            .put("StartedAt", facts.startedAt().map(Instant::toString).orElse(ContainerFacts.NEVER))
            .put(
                "FinishedAt",
                facts
                    .outcome()
                    .flatMap(outcome -> outcome.finishedAt())
                    .map(Instant::toString)
                    .orElse(ContainerFacts.NEVER));
    facts
        .health()
        .ifPresent(
            health ->
                json.put(
                    "Health",
                    Json.object()
                        .put("Status", health.state().name().toLowerCase(Locale.ROOT))
                        .put("FailingStreak", health.failures())
                        .put("Log", facts.checks().stream().map(ContainerJson::check).toList())
                        .build()));
    return json.build();
  }

  private static Json check(HealthResult check) {
    return Json.object()
        .put("Start", check.startedAt())
        .put("End", check.finishedAt())
        .put("ExitCode", check.result().success() ? 0 : 1)
        .put("Output", check.result().output())
        .build();
  }

  private static String error(ExitStatus status) {
    return switch (status) {
      case ExitStatus.RuntimeError(String reason) -> reason;
      case ExitStatus.Unknown(String reason) -> reason;
      default -> "";
    };
  }

  private static Json config(ContainerFacts facts) {
    Json request = facts.request();
    ContainerSpec spec = facts.details().spec();
    ProcessSpec process = spec.process();
    Optional<ImageDetails.RunConfig> image = facts.image().map(ImageDetails::run);
    var json =
        Json.object()
            .put("Hostname", spec.network().hostname().orElse(""))
            .put("Domainname", "")
            .put("User", process.user().or(() -> image.flatMap(run -> run.user())).orElse(""))
            .put("AttachStdin", flag(request, "AttachStdin", false))
            .put("AttachStdout", flag(request, "AttachStdout", false))
            .put("AttachStderr", flag(request, "AttachStderr", false));
    json.putIf("MacAddress", request.at("MacAddress").string().filter(text -> !text.isEmpty()));
    Map<String, Json> exposed = new TreeMap<>();
    ContainerSummary.exposed(facts).forEach(port -> exposed.put(port, Json.object().build()));
    if (!exposed.isEmpty()) {
      json.put("ExposedPorts", exposed);
    }
    json.put("Tty", process.terminal())
        .put("OpenStdin", process.stdin())
        .put("StdinOnce", flag(request, "StdinOnce", process.stdin()))
        .put("Env", env(request, process, image))
        .put("Cmd", command(process, image));
    Json health =
        DockerHealth.merged(
            request, image.map(ImageDetails.RunConfig::healthcheck).orElse(Json.Null.INSTANCE));
    if (!health.members().isEmpty()) {
      json.put("Healthcheck", health);
    }
    Map<String, Json> volumes = new TreeMap<>();
    request.at("Volumes").members().keySet().forEach(at -> volumes.put(at, Json.object().build()));
    image.ifPresent(run -> run.volumes().forEach(at -> volumes.put(at, Json.object().build())));
    json.put("Image", facts.imageName())
        .put("Volumes", volumes.isEmpty() ? null : volumes)
        .put(
            "WorkingDir",
            process.workdir().or(() -> image.flatMap(run -> run.workdir())).orElse(""))
        .put("Entrypoint", entrypoint(process, image))
        .put("OnBuild", null)
        .put("Labels", new TreeMap<>(facts.labels()));
    json.putIf(
        "StopSignal",
        spec.stop()
            .signal()
            .map(Signal::signalName)
            .or(() -> image.flatMap(run -> run.stopSignal())));
    if (!request.at("StopTimeout").isNull()) {
      json.put("StopTimeout", request.at("StopTimeout"));
    }
    return json.build();
  }

  private static boolean flag(Json request, String name, boolean standard) {
    return request.at(name).bool().orElse(standard);
  }

  /** Those of the image first, as the process sees them. */
  private static List<String> env(
      Json request, ProcessSpec process, Optional<ImageDetails.RunConfig> image) {
    var pairs = new ArrayList<String>();
    variables(process, image).forEach((name, value) -> pairs.add(name + "=" + value));
    pairs.addAll(request.at("Env").strings()); // those that were given without a value
    return pairs;
  }

  private static Map<String, String> variables(
      ProcessSpec process, Optional<ImageDetails.RunConfig> image) {
    var env = new LinkedHashMap<String, String>();
    image.ifPresent(run -> env.putAll(DockerCreate.env(run.env())));
    env.putAll(process.env());
    return env;
  }

  /** All that its main process gets. */
  static Map<String, String> variables(ContainerFacts facts) {
    return variables(facts.details().spec().process(), facts.image().map(ImageDetails::run));
  }

  private static Json command(ProcessSpec process, Optional<ImageDetails.RunConfig> image) {
    if (process.args().isPresent()) {
      return Json.of(process.args().get());
    }
    // a given entrypoint drops the arguments of the image
    return process.entrypoint().isPresent()
        ? Json.Null.INSTANCE
        : image.map(run -> words(run.command())).orElse(Json.Null.INSTANCE);
  }

  private static Json entrypoint(ProcessSpec process, Optional<ImageDetails.RunConfig> image) {
    return process
        .entrypoint()
        .map(words -> Json.of(words))
        .or(() -> image.map(run -> words(run.entrypoint())))
        .orElse(Json.Null.INSTANCE);
  }

  private static Json words(List<String> words) {
    return words.isEmpty() ? Json.Null.INSTANCE : Json.of(words);
  }

  private Json networkSettings(ContainerFacts facts) {
    Map<String, Json> networks = endpoints.networks(facts);
    Json usual = networks.getOrDefault(ContainerEndpoints.BRIDGE, Json.Null.INSTANCE);
    boolean alive = facts.details().status().alive();
    return Json.object()
        .put("Bridge", "")
        .put("SandboxID", alive ? DockerContainerIndex.derived("sandbox\0" + facts.id()) : "")
        .put("SandboxKey", "")
        .put("Ports", alive ? ports(facts) : Map.of())
        .put("HairpinMode", false)
        .put("LinkLocalIPv6Address", "")
        .put("LinkLocalIPv6PrefixLen", 0)
        .put("SecondaryIPAddresses", null)
        .put("SecondaryIPv6Addresses", null)
        .put("EndpointID", usual.at("EndpointID").string().orElse(""))
        .put("Gateway", usual.at("Gateway").string().orElse(""))
        .put("GlobalIPv6Address", "")
        .put("GlobalIPv6PrefixLen", 0)
        .put("IPAddress", usual.at("IPAddress").string().orElse(""))
        .put("IPPrefixLen", usual.at("IPPrefixLen").integer().orElse(0L))
        .put("IPv6Gateway", "")
        .put("MacAddress", usual.at("MacAddress").string().orElse(""))
        .put("Networks", networks)
        .build();
  }

  private static Map<String, Json> ports(ContainerFacts facts) {
    var bindings = new TreeMap<String, List<Json>>();
    for (ContainerDetails.PortBinding port : facts.details().ports()) {
      bindings
          .computeIfAbsent(
              port.containerPort() + "/" + port.protocol().name().toLowerCase(Locale.ROOT),
              _ -> new ArrayList<>())
          .add(
              Json.object()
                  .put("HostIp", IpText.of(port.hostIp()))
                  .put("HostPort", Integer.toString(port.hostPort()))
                  .build());
    }
    var ports = new TreeMap<String, Json>();
    ContainerSummary.exposed(facts).forEach(port -> ports.put(port, Json.Null.INSTANCE));
    bindings.forEach((port, all) -> ports.put(port, Json.of(all)));
    return ports;
  }
}
