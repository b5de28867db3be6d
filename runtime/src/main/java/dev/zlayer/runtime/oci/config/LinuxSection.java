package dev.zlayer.runtime.oci.config;

import dev.zlayer.container.IdRange;
import dev.zlayer.container.Mount;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.UnixPath;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The {@code linux} part: namespaces, limits, devices, and what the kernel hides and refuses. */
final class LinuxSection {
  private static final List<String> MASKED =
      List.of(
          "/proc/acpi",
          "/proc/asound",
          "/proc/interrupts",
          "/proc/kcore",
          "/proc/keys",
          "/proc/latency_stats",
          "/proc/sched_debug",
          "/proc/scsi",
          "/proc/timer_list",
          "/proc/timer_stats",
          "/sys/devices/virtual/powercap",
          "/sys/firmware");

  private static final List<String> READ_ONLY =
      List.of("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger");

  private LinuxSection() {}

  static Json of(BundleInput input) {
    SecuritySpec security = input.spec().security();
    boolean privileged = security.privileged();
    var section =
        Json.object()
            .put("namespaces", namespaces(input))
            .putIf("cgroupsPath", input.cgroupPath())
            .put(
                "resources",
                LinuxResources.of(
                    input.spec().resources(),
                    input.host(),
                    input.devices(),
                    security.deviceRules().orElse(List.of()),
                    privileged))
            .put("devices", input.devices().stream().map(DeviceNode::node).toList())
            .put(
                "sysctl",
                Sysctls.of(input.spec(), input.users().isPresent() || input.host().rootless()))
            .put("maskedPaths", privileged ? List.of() : masked())
            .put("readonlyPaths", privileged ? List.of() : READ_ONLY);
    input
        .users()
        .ifPresent(
            users -> {
              section.put("uidMappings", List.of(mapping(users)));
              section.put("gidMappings", List.of(mapping(users)));
            });
    return section
        .putIf("rootfsPropagation", propagation(input))
        .putIf("seccomp", seccomp(input))
        .build();
  }

  private static Json mapping(BundleInput.Users users) {
    return Json.object()
        .put("containerID", 0)
        .put("hostID", users.ids().first())
        .put("size", IdRange.SIZE)
        .build();
  }

  private static List<String> masked() {
    List<String> masked = new ArrayList<>(MASKED);
    masked.addAll(Machine.thermalThrottles());
    return masked;
  }

  private static List<Json> namespaces(BundleInput input) {
    var namespaces = new ArrayList<Json>();
    input
        .users()
        .map(users -> UnixPath.text(users.namespace()))
        .ifPresent(path -> namespaces.add(namespace("user", Optional.of(path))));
    namespaces.add(namespace("mount", Optional.empty()));
    SecuritySpec security = input.spec().security();
    if (security.uts().filter(SecuritySpec.Namespace.Host.class::isInstance).isEmpty()) {
      namespaces.add(namespace("uts", Optional.empty()));
    }
    if (!(security.pid() instanceof SecuritySpec.Namespace.Host)) {
      namespaces.add(namespace("pid", Optional.empty()));
    }
    if (!(security.ipc() instanceof SecuritySpec.Namespace.Host)) {
      namespaces.add(namespace("ipc", Optional.empty()));
    }
    if (!input.hostNetwork()) {
      namespaces.add(namespace("network", input.network().map(UnixPath::text)));
    }
    if (input.host().cgroups().v2() && !security.privileged()) {
      namespaces.add(namespace("cgroup", Optional.empty()));
    }
    return namespaces;
  }

  static Json namespace(String type, Optional<String> path) {
    return Json.object().put("type", type).putIf("path", path).build();
  }

  /** Mounts inside can be those of the host only if the root does not cut the two apart. */
  private static Optional<String> propagation(BundleInput input) {
    List<Mount.Propagation> all =
        input.binds().stream().map(BundleInput.Bind::propagation).distinct().toList();
    if (all.stream().anyMatch(Mount.Propagation::isShared)) {
      return Optional.of("shared");
    }
    return all.stream().allMatch(Mount.Propagation::isPrivate)
        ? Optional.empty()
        : Optional.of("rslave");
  }

  private static Optional<Json> seccomp(BundleInput input) {
    SecuritySpec security = input.spec().security();
    if (security.privileged()) {
      return Optional.empty();
    }
    var filter =
        new SeccompFilter(
            input.host().machine(),
            input.host().kernel(),
            CapabilitySet.of(security, input.host().capabilities()));
    return switch (security.seccomp()) {
      case SecuritySpec.Seccomp.Unconfined _ -> Optional.empty();
      case SecuritySpec.Seccomp.Default _ ->
          Optional.of(filter.translate(input.host().seccomp().orElseGet(DefaultSeccomp::profile)));
      case SecuritySpec.Seccomp.Profile(var file) -> {
        try {
          yield Optional.of(filter.translate(JsonText.parse(Files.readAllBytes(file))));
        } catch (IOException e) {
          throw new AgentException.InvalidSpec(
              "seccomp profile %s cannot be read: %s".formatted(file, e.getMessage()), e);
        }
      }
    };
  }
}
