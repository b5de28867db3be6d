package dev.zlayer.runtime.oci;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.CgroupSupport;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.host.linux.Self;
import dev.zlayer.host.linux.UserNamespaces;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.runtime.oci.config.KernelFacts;
import dev.zlayer.runtime.oci.tool.OciTools;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Gathers what configurations depend on. */
final class HostFactsReader {
  private HostFactsReader() {}

  static KernelFacts read(OciTools tools, Optional<Path> seccompProfile) {
    try {
      CgroupSupport cgroups = CgroupSupport.read();
      Optional<Json> seccomp = Optional.empty();
      if (seccompProfile.isPresent()) {
        seccomp = Optional.of(seccomp(seccompProfile.get()));
      }
      return new KernelFacts(
          Machine.architecture(),
          Machine.kernel(),
          Self.capabilities(),
          UserNamespaces.inside(),
          Self.hardLimits(),
          Self.oomScoreAdjust(),
          new KernelFacts.Cgroup(
              cgroups.v2(),
              cgroups.systemd(),
              cgroups.swap(),
              cgroups.blockIoWeight(),
              cgroups.controllers(),
              cgroups.parent()),
          tools.runtime().mountOptions(),
          seccomp,
          tools.init(),
          tools.apparmor().name(),
          tools.apparmor().problem());
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot learn what this host can do: " + e.getMessage(), e);
    }
  }

  private static Json seccomp(Path file) {
    try {
      return JsonText.parse(Files.readAllBytes(file));
    } catch (IOException | AgentException.InvalidSpec e) {
      throw new AgentException.Configuration(
          "seccomp_profile %s cannot be read: %s".formatted(file, e.getMessage()), e);
    }
  }
}
