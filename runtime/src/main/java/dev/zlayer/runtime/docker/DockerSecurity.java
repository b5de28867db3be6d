package dev.zlayer.runtime.docker;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** Privileges in the words of the engine. */
record DockerSecurity(Function<ContainerId, String> containers) {
  void put(Json.Builder host, SecuritySpec security) {
    host.put("CapAdd", security.addCapabilities());
    host.put("CapDrop", security.dropCapabilities());
    host.put("Privileged", security.privileged());
    host.put("SecurityOpt", options(security));
    host.put("PidMode", namespace(security.pid(), ""));
    host.put("IpcMode", namespace(security.ipc(), "private"));
    if (security.users().equals(Optional.of(SecuritySpec.Users.PRIVATE))) {
      throw new AgentException.Unsupported(
          "runtime 'docker': userns_mode 'private': an engine has users of their own for all"
              + " containers or none (userns-remap)");
    }
    security.users().ifPresent(_ -> host.put("UsernsMode", "host"));
    host.put("Sysctls", security.sysctls());
    host.put("Devices", security.devices().stream().map(DockerSecurity::device).toList());
  }

  private static List<String> options(SecuritySpec security) {
    List<String> options = new ArrayList<>();
    if (security.noNewPrivileges()) {
      options.add("no-new-privileges");
    }
    switch (security.seccomp()) {
      case SecuritySpec.Seccomp.Default() -> {}
      case SecuritySpec.Seccomp.Unconfined() -> options.add("seccomp=unconfined");
      case SecuritySpec.Seccomp.Profile(Path file) -> options.add("seccomp=" + content(file));
    }
    security.apparmor().ifPresent(profile -> options.add("apparmor=" + profile));
    return options;
  }

  /** The engine wants the profile itself, since it may run elsewhere. */
  private static String content(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new AgentException.InvalidSpec("cannot read the seccomp profile " + file, e);
    }
  }

  private String namespace(SecuritySpec.Namespace namespace, String own) {
    return switch (namespace) {
      case SecuritySpec.Namespace.Private() -> own;
      case SecuritySpec.Namespace.Host() -> "host";
      case SecuritySpec.Namespace.Shared(ContainerId with) -> "container:" + containers.apply(with);
    };
  }

  private static Json device(SecuritySpec.Device device) {
    return Json.object()
        .put("PathOnHost", device.path().toString())
        .put("PathInContainer", device.target())
        .put(
            "CgroupPermissions",
            (device.read() ? "r" : "") + (device.write() ? "w" : "") + (device.mknod() ? "m" : ""))
        .build();
  }
}
