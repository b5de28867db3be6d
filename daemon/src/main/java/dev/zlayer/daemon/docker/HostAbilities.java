package dev.zlayer.daemon.docker;

import dev.zlayer.daemon.config.AgentConfig;
import dev.zlayer.host.linux.CgroupSupport;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.image.registry.HostConfig;
import dev.zlayer.image.registry.RegistriesConfig;
import dev.zlayer.json.Json;
import dev.zlayer.runtime.oci.tool.OciTool;
import dev.zlayer.runtime.oci.tool.OciTools;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What this host and its programs can do, as clients show it.
 *
 * @param cgroups empty where the kernel has none
 * @param tools the programs that run Linux containers, where any do
 */
record HostAbilities(
    AgentConfig config, Optional<CgroupSupport> cgroups, Optional<OciTools> tools) {
  private static final Path MACHINE_ID = Path.of("/etc/machine-id");
  private static final Path OS_RELEASE = Path.of("/etc/os-release");

  static HostAbilities read(AgentConfig config, Optional<OciTools> tools) {
    Optional<CgroupSupport> cgroups;
    try {
      cgroups = Optional.of(CgroupSupport.read());
    } catch (IOException _) {
      cgroups = Optional.empty();
    }
    return new HostAbilities(config, cgroups, tools);
  }

  /** The same for this agent on this machine at all times, and for no other. */
  String id() {
    String machine;
    try {
      machine = Files.readString(MACHINE_ID).strip();
    } catch (IOException _) {
      machine = Machine.hostname(); // minimal systems have no such file
    }
    return DockerContainerIndex.derived(machine + "\0" + config.directories().data());
  }

  /** What the disk below the images is formatted with. */
  String backingFileSystem() {
    try {
      return Files.getFileStore(config.directories().data()).type();
    } catch (IOException _) {
      return "unknown";
    }
  }

  /** A value of os-release(5). */
  static String release(String key, String standard) {
    try (var lines = Files.lines(OS_RELEASE)) {
      return lines
          .filter(line -> line.startsWith(key + "="))
          .map(line -> line.substring(key.length() + 1).replace("\"", ""))
          .findFirst()
          .orElse(standard);
    } catch (IOException _) {
      return standard; // minimal systems have no such file
    }
  }

  /** What can be limited, by the names of Docker. */
  Map<String, Boolean> limits() {
    Set<String> controllers = cgroups.map(CgroupSupport::controllers).orElse(Set.of());
    var limits = new LinkedHashMap<String, Boolean>();
    limits.put("MemoryLimit", controllers.contains("memory"));
    limits.put("SwapLimit", cgroups.filter(CgroupSupport::swap).isPresent());
    limits.put("CpuCfsPeriod", controllers.contains("cpu"));
    limits.put("CpuCfsQuota", controllers.contains("cpu"));
    limits.put("CPUShares", controllers.contains("cpu"));
    limits.put("CPUSet", controllers.contains("cpuset"));
    limits.put("PidsLimit", controllers.contains("pids"));
    limits.put(
        "OomKillDisable",
        controllers.contains("memory") && cgroups.filter(CgroupSupport::v2).isEmpty());
    limits.put("IPv4Forwarding", Machine.forwardsIpv4());
    // what stays on a bridge is filtered there, not by the tables for what is routed
    limits.put("BridgeNfIptables", false);
    limits.put("BridgeNfIp6tables", false);
    return limits;
  }

  /** In the words of Docker's own command line. */
  List<String> warnings() {
    Map<String, Boolean> limits = limits();
    var warnings = new ArrayList<String>();
    Map.of(
            "MemoryLimit", "WARNING: No memory limit support",
            "SwapLimit", "WARNING: No swap limit support",
            "CpuCfsQuota", "WARNING: No cpu cfs quota support",
            "CPUSet", "WARNING: No cpuset support",
            "PidsLimit", "WARNING: No pids limit support",
            "IPv4Forwarding", "WARNING: IPv4 forwarding is disabled")
        .forEach(
            (ability, warning) -> {
              if (!limits.getOrDefault(ability, false)) {
                warnings.add(warning);
              }
            });
    return warnings.stream().sorted().toList();
  }

  String cgroupDriver() {
    return cgroups.filter(CgroupSupport::systemd).isPresent() ? "systemd" : "cgroupfs";
  }

  String cgroupVersion() {
    return cgroups.filter(CgroupSupport::v2).isPresent() ? "2" : "1";
  }

  List<String> securityOptions() {
    var options = new ArrayList<String>();
    if (tools.filter(all -> all.apparmor().inForce()).isPresent()) {
      options.add("name=apparmor");
    }
    options.add("name=seccomp,profile=" + config.seccompProfile().orElse("builtin"));
    if (config.userns().equals("auto")) {
      options.add("name=userns");
    }
    if (cgroups.filter(CgroupSupport::v2).isPresent()) {
      options.add("name=cgroupns");
    }
    return options;
  }

  /** The name of the one that is used; empty where none is. */
  String runtime() {
    return tools.map(all -> all.runtime().name()).orElse("");
  }

  /** All that work here, by name. */
  Map<String, Json> runtimes() {
    var runtimes = new LinkedHashMap<String, Json>();
    for (OciTool tool : tools.map(OciTools::tried).orElse(List.of())) {
      if (tool.works()) {
        runtimes.put(tool.name(), Json.object().put("path", tool.path().toString()).build());
      }
    }
    return runtimes;
  }

  String initProgram() {
    return tools.flatMap(OciTools::init).map(path -> path.getFileName().toString()).orElse("");
  }

  /** What the used runtime says of itself; its first line. */
  String runtimeVersion() {
    return tools.flatMap(all -> all.runtime().version().lines().findFirst()).orElse("");
  }

  /** Mirrors and plain HTTP, as the operator set them. */
  Json registries() {
    RegistriesConfig registries =
        RegistriesConfig.read(Path.of(config.configDir()).resolve("registries.json"));
    HostConfig hub = registries.of("docker.io");
    List<String> mirrors = hub.mirrors();
    Map<String, Json> indexes = new LinkedHashMap<>();
    indexes.put("docker.io", index("docker.io", mirrors, true));
    registries
        .hosts()
        .forEach(
            (host, settings) -> {
              if (settings.plainHttp().orElse(false) && !host.equals("*")) {
                indexes.put(host, index(host, List.of(), false));
              }
            });
    return Json.object()
        .put("InsecureRegistryCIDRs", List.of("127.0.0.0/8"))
        .put("IndexConfigs", indexes)
        .put("Mirrors", mirrors)
        .build();
  }

  private static Json index(String name, List<String> mirrors, boolean secure) {
    return Json.object()
        .put("Name", name)
        .put("Mirrors", mirrors)
        .put("Secure", secure)
        .put("Official", name.equals("docker.io"))
        .build();
  }
}
