package dev.zlayer.engine.translate;

import dev.zlayer.container.SecuritySpec;
import dev.zlayer.container.SecuritySpec.Namespace;
import dev.zlayer.container.SecuritySpec.Seccomp;
import dev.zlayer.spec.value.Capability;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** What the container may do. */
final class SecuritySection {
  private static final String OF_CONTAINER = "container:";

  private SecuritySection() {}

  static SecuritySpec of(dev.zlayer.spec.security.SecuritySettings spec, SharedNamespaces shared) {
    Seccomp seccomp = new Seccomp.Default();
    Optional<String> apparmor = Optional.empty();
    boolean noNewPrivileges = SecuritySpec.DEFAULT.noNewPrivileges();
    for (String option : spec.securityOpt()) {
      Optional<Seccomp> filter = SecuritySpec.seccomp(option);
      if (filter.isPresent()) {
        seccomp = filter.get();
      } else if (SecuritySpec.apparmor(option).isPresent()) {
        apparmor = SecuritySpec.apparmor(option);
      } else if (option.startsWith("no-new-privileges")) {
        noNewPrivileges = !option.endsWith(":false");
      }
    }
    return new SecuritySpec(
        names(spec.capabilities()),
        names(spec.capDrop()),
        seccomp,
        noNewPrivileges,
        spec.privileged(),
        namespace(spec.pidMode(), shared),
        namespace(spec.ipcMode().filter(mode -> !mode.equals("shareable")), shared),
        spec.sysctls(),
        spec.devices().stream()
            .map(
                device ->
                    new SecuritySpec.Device(
                        Path.of(device.path()), device.read(), device.write(), device.mknod()))
            .toList(),
        apparmor,
        spec.usernsMode()
            .map(
                mode ->
                    mode.equals("private") ? SecuritySpec.Users.PRIVATE : SecuritySpec.Users.HOST));
  }

  private static Namespace namespace(Optional<String> mode, SharedNamespaces shared) {
    return switch (mode.orElse("private")) {
      case "host" -> new Namespace.Host();
      case String text when text.startsWith(OF_CONTAINER) ->
          new Namespace.Shared(shared.container(text.substring(OF_CONTAINER.length())));
      default -> new Namespace.Private();
    };
  }

  private static List<String> names(List<Capability> capabilities) {
    return capabilities.stream().map(Capability::name).toList();
  }
}
