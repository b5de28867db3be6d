package dev.zlayer.runtime.docker;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.GpuRequest;
import dev.zlayer.container.Mount;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * A spec in the words of the engine. Every part is in it or refused.
 *
 * @param containers the engine's id of another container of ours
 */
record CreateBody(Function<ContainerId, String> containers) {
  Json of(ContainerSpec spec, Map<String, String> labels) {
    ProcessSpec process = spec.process();
    List<String> env = new ArrayList<>();
    process.env().forEach((name, value) -> env.add(name + "=" + value));
    Map<String, Json> exposed = new LinkedHashMap<>();
    spec.network().ports().forEach(port -> exposed.put(name(port), Json.object().build()));
    return Json.object()
        .put("Image", spec.image().canonical())
        .putIf("Entrypoint", process.entrypoint())
        .putIf("Cmd", process.args())
        .put("Env", env)
        .putIf("WorkingDir", process.workdir())
        .putIf("User", process.user())
        .put("Tty", process.terminal())
        .put("OpenStdin", process.stdin())
        .put("Labels", labels)
        .putIf("StopSignal", spec.stop().signal().map(Signal::number).map(String::valueOf))
        .put("StopTimeout", Math.max(1, spec.stop().grace().toSeconds()))
        .putIf("Hostname", spec.network().hostname())
        .put("ExposedPorts", exposed)
        .put("HostConfig", host(spec))
        .build();
  }

  private Json host(ContainerSpec spec) {
    Json.Builder host = Json.object();
    LimitsSection.put(host, spec.resources());
    new DockerSecurity(containers).put(host, spec.security());
    network(host, spec.network());
    host.put("Mounts", spec.fileSystem().mounts().stream().map(CreateBody::mount).toList());
    host.put("ReadonlyRootfs", spec.fileSystem().readOnlyRoot());
    host.put("GroupAdd", spec.process().extraGroups());
    host.put("Init", spec.process().init());
    spec.gpu().ifPresent(gpu -> host.put("DeviceRequests", List.of(gpu(gpu))));
    if (spec.logs().inMemory()) {
      throw new AgentException.Unsupported(
          "runtime 'docker': logs in memory: the engine keeps them on disk; write logs.destination:"
              + " disk");
    }
    // json-file, the engine's default, replaces bytes that are not UTF-8
    host.put(
        "LogConfig",
        Json.object()
            .put("Type", "local")
            .put(
                "Config",
                Map.of(
                    "max-size", Long.toString(spec.logs().maxFileBytes()),
                    "max-file", Integer.toString(spec.logs().files()),
                    "compress", "false"))
            .build());
    return host.build();
  }

  private void network(Json.Builder host, NetworkSpec network) {
    host.put(
        "NetworkMode",
        switch (network.mode()) {
          case NetworkSpec.Mode.Bridge(var name) -> name.orElse("bridge");
          case NetworkSpec.Mode.Host() -> "host";
          case NetworkSpec.Mode.None() -> "none";
          case NetworkSpec.Mode.Shared(ContainerId with) -> "container:" + containers.apply(with);
        });
    var bindings = new LinkedHashMap<String, List<Json>>();
    for (NetworkSpec.Port port : network.ports()) {
      bindings.computeIfAbsent(name(port), _ -> new ArrayList<>()).add(binding(port));
    }
    host.put("PortBindings", bindings);
    host.put("Dns", network.dns().stream().map(java.net.InetAddress::getHostAddress).toList());
    host.put("DnsSearch", network.dnsSearch());
    host.put(
        "ExtraHosts",
        network.hosts().entrySet().stream()
            .map(entry -> entry.getKey() + ":" + entry.getValue())
            .toList());
  }

  private static Json binding(NetworkSpec.Port port) {
    return Json.object()
        .put("HostIp", port.hostIp().map(java.net.InetAddress::getHostAddress).orElse(""))
        .put(
            "HostPort",
            port.hostPort().isPresent() ? Integer.toString(port.hostPort().getAsInt()) : "")
        .build();
  }

  private static String name(NetworkSpec.Port port) {
    return port.containerPort()
        + "/"
        + switch (port.protocol()) {
          case TCP -> "tcp";
          case UDP -> "udp";
        };
  }

  private static Json mount(Mount mount) {
    return switch (mount) {
      case Mount.Bind(var source, String target, boolean readOnly, var propagation) ->
          Json.object()
              .put("Type", "bind")
              .put("Source", source.toString())
              .put("Target", target)
              .put("ReadOnly", readOnly)
              .putIf(
                  "BindOptions",
                  propagation.map(word -> Json.object().put("Propagation", word.word()).build()))
              .build();
      case Mount.Named(String name, String target, boolean readOnly, var subpath) ->
          Json.object()
              .put("Type", "volume")
              .put("Source", name)
              .put("Target", target)
              .put("ReadOnly", readOnly)
              .putIf(
                  "VolumeOptions", subpath.map(part -> Json.object().put("Subpath", part).build()))
              .build();
      case Mount.Anonymous(String target) ->
          Json.object().put("Type", "volume").put("Target", target).build();
      case Mount.Supplied(String target, boolean readOnly) ->
          Json.object()
              .put("Type", "volume")
              .put("Target", target)
              .put("ReadOnly", readOnly)
              .put("VolumeOptions", Json.object().put("NoCopy", true).build())
              .build();
      case Mount.Tmpfs(String target, var size, var mode) -> {
        Json.Builder options = Json.object();
        size.ifPresent(bytes -> options.put("SizeBytes", bytes));
        mode.ifPresent(bits -> options.put("Mode", bits));
        yield Json.object()
            .put("Type", "tmpfs")
            .put("Target", target)
            .put("TmpfsOptions", options.build())
            .build();
      }
    };
  }

  private static Json gpu(GpuRequest gpu) {
    if (!gpu.vendor().equals("nvidia") || gpu.model().isPresent()) {
      throw new AgentException.Unsupported(
          "the docker runtime asks the engine for nvidia GPUs by number or name only");
    }
    if (!(gpu.sharing() instanceof GpuRequest.Sharing.Exclusive)) {
      throw new AgentException.GpuSharingUnavailable(
          gpu.sharing().word(), "the docker engine cannot share GPUs");
    }
    return Json.object()
        .put("Driver", "nvidia")
        .put("Count", gpu.all() ? -1 : gpu.devices().isEmpty() ? gpu.count() : 0)
        .put("DeviceIDs", gpu.all() ? List.of() : gpu.devices())
        .put("Capabilities", List.of(List.of("gpu")))
        .build();
  }
}
