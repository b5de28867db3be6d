package dev.zlayer.spec.check;

import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.security.SecuritySettings;
import dev.zlayer.spec.security.UlimitSpec;
import dev.zlayer.spec.value.Capability;
import dev.zlayer.spec.value.NetworkMode;
import java.util.ArrayList;
import java.util.List;

/** Rights that contradict each other. */
final class SecurityCheck {
  private SecurityCheck() {}

  static void check(ServiceSpec service, SpecPath path, Findings findings) {
    SecuritySettings security = service.security();
    List<Capability> added = security.capabilities();
    List<Capability> dropped = security.capDrop();
    for (int i = 0; i < dropped.size(); i++) {
      if (added.contains(dropped.get(i))) {
        findings.problem(
            path.key("cap_drop").index(i),
            "%s is also added, remove it from one of the lists".formatted(dropped.get(i).name()));
      }
    }
    if (security.privileged() && !dropped.isEmpty()) {
      findings.problem(
          path.key("cap_drop"), "a privileged container has every capability, remove one of both");
    }
    if (security.usernsMode().filter("private"::equals).isPresent()) {
      checkOwnUsers(service, path.key("userns_mode"), findings);
    }
    security
        .ulimits()
        .forEach((name, limit) -> checkLimit(limit, path.key("ulimits").key(name), findings));
    var devices = security.devices();
    for (int i = 0; i < devices.size(); i++) {
      var device = devices.get(i);
      if (!device.read() && !device.write() && !device.mknod()) {
        findings.problem(
            path.key("devices").index(i), "allows nothing, write read, write or mknod: true");
      }
    }
  }

  private static void checkOwnUsers(ServiceSpec service, SpecPath path, Findings findings) {
    SecuritySettings security = service.security();
    var excluded = new ArrayList<String>();
    if (security.privileged()) {
      excluded.add("privileged");
    }
    if (security.pidMode().filter("host"::equals).isPresent()) {
      excluded.add("pid_mode: host");
    }
    if (security.ipcMode().filter("host"::equals).isPresent()) {
      excluded.add("ipc_mode: host");
    }
    if (service.networking().effectiveMode() instanceof NetworkMode.Host) {
      excluded.add("network_mode: host");
    }
    if (!excluded.isEmpty()) {
      findings.problem(
          path,
          "users of its own cannot be combined with %s, write host or remove %s"
              .formatted(String.join(", ", excluded), excluded.size() == 1 ? "it" : "them"));
    }
  }

  private static void checkLimit(UlimitSpec limit, SpecPath path, Findings findings) {
    if (limit.soft().isEmpty() && limit.hard().isEmpty()) {
      findings.problem(path, "has no bound, write soft, hard or both");
      return;
    }
    long soft = limit.soft().or(limit::hard).orElseThrow();
    long hard = limit.hard().or(limit::soft).orElseThrow();
    if (hard != -1 && (soft == -1 || soft > hard) && findings.clean(path)) {
      findings.problem(path.key("soft"), "is above hard, which is %d, write less".formatted(hard));
    }
  }
}
