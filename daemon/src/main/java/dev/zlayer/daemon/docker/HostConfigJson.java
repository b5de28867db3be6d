package dev.zlayer.daemon.docker;

import dev.zlayer.container.IpText;
import dev.zlayer.container.Mount;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.Resources;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** What a container was made with besides its command: as asked for, as far as it was asked for. */
final class HostConfigJson {
  private static final long SHARED_MEMORY = 64L << 20;
  private static final double NANO = 1e9;

  private HostConfigJson() {}

  static Json of(ContainerFacts facts) {
    var json = new LinkedHashMap<String, Json>(defaults(facts).members());
    facts
        .request()
        .at("HostConfig")
        .members()
        .forEach(
            (name, value) -> {
              if (!CreateFields.zero(value)) {
                json.put(name, value);
              }
            });
    json.putAll(limits(facts.details().spec().resources()).members());
    json.put("NetworkMode", Json.of(facts.networkMode()));
    json.computeIfPresent("Links", (_, _) -> links(facts));
    json.computeIfPresent("PortBindings", (_, asked) -> bindings(asked));
    json.put("RestartPolicy", restart(facts.rules()));
    Json logs = json.getOrDefault("LogConfig", Json.Null.INSTANCE);
    if (logs.at("Type").string().orElse("").isEmpty()) {
      json.put(
          "LogConfig",
          Json.object().put("Type", "json-file").put("Config", logs.at("Config")).build());
    }
    return new Json.Obj(json);
  }

  /** Each with an address and a port, if only empty ones. */
  private static Json bindings(Json asked) {
    var ports = new LinkedHashMap<String, Json>();
    asked
        .members()
        .forEach(
            (port, bindings) ->
                ports.put(
                    port,
                    Json.of(
                        bindings.items().stream()
                            .map(
                                binding ->
                                    Json.object()
                                        .put("HostIp", binding.at("HostIp").string().orElse(""))
                                        .put("HostPort", binding.at("HostPort").string().orElse(""))
                                        .build())
                            .toList())));
    return new Json.Obj(ports);
  }

  /** As Docker shows a container that asked for nothing, with what the spec has. */
  private static Json.Obj defaults(ContainerFacts facts) {
    var spec = facts.details().spec();
    SecuritySpec security = spec.security();
    return Json.object()
        .put("Binds", binds(facts))
        .put("ContainerIDFile", "")
        .put("LogConfig", Json.object().put("Type", "json-file").put("Config", Map.of()).build())
        .put("NetworkMode", "bridge")
        .put("PortBindings", ports(spec.network()))
        .put("RestartPolicy", restart(Map.of()))
        .put("AutoRemove", facts.rules().containsKey("com.zlayer.remove"))
        .put("VolumeDriver", "")
        .put("VolumesFrom", null)
        .put("ConsoleSize", List.of(0, 0))
        .put("CapAdd", orNull(security.addCapabilities()))
        .put("CapDrop", orNull(security.dropCapabilities()))
        .put("CgroupnsMode", "private")
        .put("Dns", spec.network().dns().stream().map(dns -> dns.getHostAddress()).toList())
        .put("DnsOptions", List.of())
        .put("DnsSearch", spec.network().dnsSearch())
        .put("ExtraHosts", hosts(facts))
        .put("GroupAdd", orNull(spec.process().extraGroups()))
        .put("IpcMode", mode(security.ipc(), "private"))
        .put("Cgroup", "")
        .put("Links", null)
        .put("OomScoreAdj", 0)
        .put("PidMode", mode(security.pid(), ""))
        .put("Privileged", security.privileged())
        .put("PublishAllPorts", false)
        .put("ReadonlyRootfs", spec.fileSystem().readOnlyRoot())
        .put("SecurityOpt", null)
        .put("UTSMode", "")
        .put("UsernsMode", "")
        .put("ShmSize", SHARED_MEMORY)
        .put("Runtime", "runc")
        .put("Isolation", "")
        .put("CpuShares", 0)
        .put("Memory", 0)
        .put("NanoCpus", 0)
        .put("CgroupParent", "")
        .put("BlkioWeight", 0)
        .put("BlkioWeightDevice", List.of())
        .put("BlkioDeviceReadBps", List.of())
        .put("BlkioDeviceWriteBps", List.of())
        .put("BlkioDeviceReadIOps", List.of())
        .put("BlkioDeviceWriteIOps", List.of())
        .put("CpuPeriod", 0)
        .put("CpuQuota", 0)
        .put("CpuRealtimePeriod", 0)
        .put("CpuRealtimeRuntime", 0)
        .put("CpusetCpus", "")
        .put("CpusetMems", "")
        .put("Devices", devices(security))
        .put("DeviceCgroupRules", null)
        .put("DeviceRequests", DeviceRequests.json(spec.gpu()))
        .put("MemoryReservation", 0)
        .put("MemorySwap", 0)
        .put("MemorySwappiness", null)
        .put("OomKillDisable", false)
        .put("PidsLimit", null)
        .put("Ulimits", List.of())
        .put("CpuCount", 0)
        .put("CpuPercent", 0)
        .put("IOMaximumIOps", 0)
        .put("IOMaximumBandwidth", 0)
        .put("MaskedPaths", null)
        .put("ReadonlyPaths", null)
        .build();
  }

  /** What an update may have changed is shown as it is now. */
  private static Json.Obj limits(Resources limits) {
    var json = Json.object();
    if (limits.cpus().isPresent()) {
      json.put("NanoCpus", Math.round(limits.cpus().getAsDouble() * NANO));
    }
    limits.cpuShares().ifPresent(value -> json.put("CpuShares", value));
    limits.cpuset().ifPresent(value -> json.put("CpusetCpus", value));
    limits.memoryBytes().ifPresent(value -> json.put("Memory", value));
    limits.memorySwapBytes().ifPresent(value -> json.put("MemorySwap", value));
    limits.memoryReservationBytes().ifPresent(value -> json.put("MemoryReservation", value));
    limits.memorySwappiness().ifPresent(value -> json.put("MemorySwappiness", value));
    limits.oomScoreAdjust().ifPresent(value -> json.put("OomScoreAdj", value));
    limits.blockIoWeight().ifPresent(value -> json.put("BlkioWeight", value));
    limits.cgroupParent().ifPresent(value -> json.put("CgroupParent", value));
    if (limits.pids().isPresent() && limits.pids().getAsLong() != Resources.DEFAULT_PIDS) {
      json.put("PidsLimit", limits.pids().getAsLong());
    }
    json.put("OomKillDisable", limits.oomKillDisabled());
    var ulimits = new ArrayList<Json>();
    new TreeMap<>(limits.ulimits())
        .forEach(
            (name, limit) ->
                ulimits.add(
                    Json.object()
                        .put("Name", name)
                        .put("Hard", limit.hard())
                        .put("Soft", limit.soft())
                        .build()));
    json.put("Ulimits", ulimits);
    return json.build();
  }

  /** From the labels on which the rules of a container are written. */
  private static Json restart(Map<String, String> rules) {
    return Json.object()
        .put("Name", rules.getOrDefault("com.zlayer.restart", "no").replace('_', '-'))
        .put(
            "MaximumRetryCount",
            Integer.parseInt(rules.getOrDefault("com.zlayer.restart.most", "0")))
        .build();
  }

  private static Json orNull(List<String> list) {
    return list.isEmpty() ? Json.Null.INSTANCE : Json.of(list);
  }

  private static Json binds(ContainerFacts facts) {
    var binds = new ArrayList<String>();
    for (Mount mount : facts.details().spec().fileSystem().mounts()) {
      if (mount instanceof Mount.Bind bind) {
        binds.add(bind.source() + ":" + bind.target() + (bind.readOnly() ? ":ro" : ""));
      } else if (mount instanceof Mount.Named named) {
        binds.add(named.name() + ":" + named.target() + (named.readOnly() ? ":ro" : ""));
      }
    }
    boolean asked = !facts.request().isNull(); // it shows what it was asked for
    return asked || binds.isEmpty() ? Json.Null.INSTANCE : Json.of(binds);
  }

  private static Map<String, Json> ports(NetworkSpec network) {
    var ports = new TreeMap<String, List<Json>>();
    for (NetworkSpec.Port port : network.ports()) {
      String host = port.hostPort().isPresent() ? "" + port.hostPort().getAsInt() : "";
      ports
          .computeIfAbsent(
              port.containerPort() + "/" + port.protocol().name().toLowerCase(Locale.ROOT),
              _ -> new ArrayList<>())
          .add(
              Json.object()
                  .put("HostIp", port.hostIp().map(IpText::of).orElse(""))
                  .put("HostPort", host)
                  .build());
    }
    var json = new TreeMap<String, Json>();
    ports.forEach((port, all) -> json.put(port, Json.of(all)));
    return json;
  }

  private static Json links(ContainerFacts facts) {
    List<String> links =
        ContainerLinks.asked(facts.request()).stream()
            .map(
                link ->
                    "/%s:/%s/%s"
                        .formatted(
                            link.container().replaceFirst("^/", ""), facts.name(), link.alias()))
            .toList();
    return links.isEmpty() ? Json.Null.INSTANCE : Json.of(links);
  }

  private static Json hosts(ContainerFacts facts) {
    NetworkSpec network = facts.details().spec().network();
    boolean asked = !facts.request().isNull(); // links are among the hosts
    return asked || network.hosts().isEmpty()
        ? Json.Null.INSTANCE
        : Json.of(
            new TreeMap<>(network.hosts())
                .entrySet().stream().map(line -> line.getKey() + ":" + line.getValue()).toList());
  }

  private static String mode(SecuritySpec.Namespace namespace, String own) {
    return switch (namespace) {
      case SecuritySpec.Namespace.Private() -> own;
      case SecuritySpec.Namespace.Host() -> "host";
      case SecuritySpec.Namespace.Shared(var with) -> "container:" + with.runtimeName();
    };
  }

  private static List<Json> devices(SecuritySpec security) {
    return security.devices().stream()
        .<Json>map(
            device ->
                Json.object()
                    .put("PathOnHost", device.path().toString())
                    .put("PathInContainer", device.target())
                    .put(
                        "CgroupPermissions",
                        (device.read() ? "r" : "")
                            + (device.write() ? "w" : "")
                            + (device.mknod() ? "m" : ""))
                    .build())
        .toList();
  }
}
