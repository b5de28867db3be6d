package dev.zlayer.daemon.docker;

import dev.zlayer.container.ContainerDetails;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.IpText;
import dev.zlayer.container.Mount;
import dev.zlayer.engine.health.HealthState;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.runtime.cni.ContainerNetworks;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/** A container as a line of a listing, and what inspect shows in the same way. */
final class ContainerSummary {
  private final ContainerEndpoints endpoints;
  private final Path volumes;
  private final Map<ContainerId, Line> lines = new ConcurrentHashMap<>();

  /** {@code volumes} is where named volumes are. */
  ContainerSummary(ContainerEndpoints endpoints, Path volumes) {
    this.endpoints = endpoints;
    this.volumes = volumes;
  }

  /** What a line depends on; the id of an image stands for all that is in its configuration. */
  private record Shown(
      String id,
      String name,
      ContainerSpec spec,
      ContainerStatus state,
      String status,
      List<ContainerDetails.PortBinding> ports,
      List<ContainerNetworks.Member> members,
      String image) {}

  private record Line(Shown shown, String text) {}

  /** As {@link #of} without sizes, as text: it is kept while nothing that it shows has changed. */
  String line(ContainerFacts facts, Instant now) {
    ContainerDetails details = facts.details();
    var shown =
        new Shown(
            facts.id(),
            facts.name(),
            details.spec(),
            details.status(),
            status(facts, now),
            details.ports(),
            endpoints.members(facts),
            facts.imageId());
    Line known = lines.get(details.id());
    if (known == null || !known.shown().equals(shown)) {
      known = new Line(shown, JsonText.print(of(facts, now, Optional.empty())));
      lines.put(details.id(), known);
    }
    return known.text();
  }

  /** Forgets the lines of all but these. */
  void keep(Set<ContainerId> present) {
    lines.keySet().retainAll(present);
  }

  Json.Obj of(ContainerFacts facts, Instant now, Optional<ContainerSizes> sizes) {
    var json =
        Json.object()
            .put("Id", facts.id())
            .put("Names", List.of("/" + facts.name()))
            .put("Image", facts.imageName())
            .put("ImageID", facts.imageId())
            .put("Command", String.join(" ", facts.details().command()))
            .put("Created", facts.details().createdAt().getEpochSecond())
            .put("Ports", ports(facts))
            .put("Labels", new TreeMap<>(facts.labels()))
            .put("State", facts.state())
            .put("Status", status(facts, now))
            .put("HostConfig", Map.of("NetworkMode", facts.networkMode()))
            .put("NetworkSettings", Map.of("Networks", endpoints.networks(facts)))
            .put("Mounts", mounts(facts));
    sizes.ifPresent(known -> json.put("SizeRw", known.changed()).put("SizeRootFs", known.root()));
    return json.build();
  }

  private static List<Json> ports(ContainerFacts facts) {
    var ports = new ArrayList<Json>();
    var published = new ArrayList<String>();
    for (ContainerDetails.PortBinding port : facts.details().ports()) {
      String type = port.protocol().name().toLowerCase(Locale.ROOT);
      published.add(port.containerPort() + "/" + type);
      ports.add(
          Json.object()
              .put("IP", IpText.of(port.hostIp()))
              .put("PrivatePort", port.containerPort())
              .put("PublicPort", port.hostPort())
              .put("Type", type)
              .build());
    }
    for (String exposed : exposed(facts)) {
      if (!published.contains(exposed)) {
        String[] parts = exposed.split("/", 2);
        ports.add(
            Json.object()
                .put("PrivatePort", Integer.parseInt(parts[0]))
                .put("Type", parts[1])
                .build());
      }
    }
    return ports;
  }

  /** Ports that the image or the request names, as {@code 80/tcp}; none without a bridge. */
  static List<String> exposed(ContainerFacts facts) {
    Json.Obj request = facts.request() instanceof Json.Obj known ? known : Json.object().build();
    return new ConnectOptions(request)
        .exposed(facts.image()).stream().filter(port -> port.matches("[0-9]{1,5}/.+")).toList();
  }

  static String status(ContainerFacts facts, Instant now) {
    ContainerStatus status = facts.details().status();
    String since = HumanDuration.of(Duration.between(facts.startedAt().orElse(now), now));
    return switch (status) {
      case ContainerStatus.Created _, ContainerStatus.Prepared _ -> "Created";
      case ContainerStatus.Running _, ContainerStatus.Stopping _ -> "Up " + since + health(facts);
      case ContainerStatus.Paused _ -> "Up " + since + " (Paused)";
      case ContainerStatus.Exited(var outcome) ->
          outcome.startedAt().isEmpty()
              ? "Created"
              : "Exited (%d) %s ago"
                  .formatted(
                      facts.exitCode(),
                      HumanDuration.of(Duration.between(outcome.finishedAt().orElse(now), now)));
      case ContainerStatus.Removed _ -> "Removal In Progress";
      case ContainerStatus.Unknown _ -> "Dead";
    };
  }

  private static String health(ContainerFacts facts) {
    return facts
        .health()
        .map(
            health ->
                health.state() == HealthState.STARTING
                    ? " (health: starting)"
                    : " (%s)".formatted(health.state().name().toLowerCase(Locale.ROOT)))
        .orElse("");
  }

  /** The options of a bind as they were written. */
  private static String mode(ContainerFacts facts, Mount.Bind bind) {
    return facts.request().at("HostConfig").at("Binds").strings().stream()
        .map(text -> text.split(":", 3))
        .filter(parts -> parts.length == 3 && parts[1].equals(bind.target()))
        .map(parts -> parts[2])
        .findFirst()
        .orElse(bind.readOnly() ? "ro" : "");
  }

  List<Json> mounts(ContainerFacts facts) {
    var mounts = new ArrayList<Json>();
    for (Mount mount : facts.details().spec().fileSystem().mounts()) {
      switch (mount) {
        case Mount.Bind bind ->
            mounts.add(
                Json.object()
                    .put("Type", "bind")
                    .put("Source", bind.source().toString())
                    .put("Destination", bind.target())
                    .put("Mode", mode(facts, bind))
                    .put("RW", !bind.readOnly())
                    .put(
                        "Propagation", bind.propagation().orElse(Mount.Propagation.RPRIVATE).word())
                    .build());
        case Mount.Named named ->
            mounts.add(volume(named.name(), named.target(), "z", !named.readOnly()));
        case Mount.Anonymous anonymous ->
            mounts.add(
                volume(anonymousName(facts, anonymous.target()), anonymous.target(), "", true));
        case Mount.Supplied supplied ->
            mounts.add(
                volume(
                    anonymousName(facts, supplied.target()),
                    supplied.target(),
                    "",
                    !supplied.readOnly()));
        case Mount.Tmpfs tmpfs -> {
          if (facts.request().at("HostConfig").at("Mounts").items().stream()
              .anyMatch(asked -> asked.at("Target").string().equals(Optional.of(tmpfs.target())))) {
            mounts.add(
                Json.object()
                    .put("Type", "tmpfs")
                    .put("Source", "")
                    .put("Destination", tmpfs.target())
                    .put("Mode", "")
                    .put("RW", true)
                    .put("Propagation", "")
                    .build());
          }
        }
      }
    }
    return mounts;
  }

  private static String anonymousName(ContainerFacts facts, String target) {
    return DockerContainerIndex.derived(facts.id() + "\0" + target);
  }

  private Json volume(String name, String target, String mode, boolean writable) {
    return Json.object()
        .put("Type", "volume")
        .put("Name", name)
        .put("Source", DockerVolumes.mountpoint(volumes.resolve(name)))
        .put("Destination", target)
        .put("Driver", "local")
        .put("Mode", mode)
        .put("RW", writable)
        .put("Propagation", "")
        .build();
  }
}
