package dev.zlayer.cli.command.run;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** What it may do. */
final class SecurityFlags {
  @Option(names = "--cap-add", paramLabel = "CAPABILITY", description = "Add a capability, or ALL")
  List<String> capAdd = List.of();

  @Option(
      names = "--cap-drop",
      paramLabel = "CAPABILITY",
      description = "Drop a capability, or ALL")
  List<String> capDrop = List.of();

  @Option(names = "--privileged", description = "Grant all capabilities and devices")
  boolean privileged;

  @Option(names = "--read-only", description = "Mount the root file system read-only")
  boolean readOnly;

  @Option(
      names = "--security-opt",
      paramLabel = "OPTION",
      description = "no-new-privileges, seccomp=..., apparmor=... or label=...")
  List<String> options = List.of();

  @Option(names = "--device", paramLabel = "PATH[:PATH[:rwm]]", description = "Add a host device")
  List<String> devices = List.of();

  @Option(names = "--sysctl", paramLabel = "NAME=VALUE", description = "Set a kernel parameter")
  List<String> sysctls = List.of();

  @Option(
      names = "--pid",
      paramLabel = "MODE",
      description = "PID namespace: host or container:NAME")
  @Nullable String pid;

  @Option(
      names = "--ipc",
      paramLabel = "MODE",
      description = "IPC namespace: private, shareable, host, none or container:NAME")
  @Nullable String ipc;

  @Option(
      names = "--userns",
      paramLabel = "MODE",
      description = "User namespace: private or host (default: as the daemon is configured)")
  @Nullable String users;

  @Option(names = "--cgroup-parent", paramLabel = "PATH", description = "Parent cgroup")
  @Nullable String cgroupParent;

  void into(Json.Builder body) {
    if (!capAdd.isEmpty()) {
      body.put("capabilities", capAdd);
    }
    if (!capDrop.isEmpty()) {
      body.put("cap_drop", capDrop);
    }
    if (privileged) {
      body.put("privileged", true);
    }
    if (readOnly) {
      body.put("read_only_root_fs", true);
    }
    if (!options.isEmpty()) {
      body.put("security_opt", options);
    }
    if (!devices.isEmpty()) {
      var all = new ArrayList<Json>();
      devices.forEach(device -> all.add(device(device)));
      body.put("devices", all);
    }
    Map<String, String> settings = new LinkedHashMap<>();
    for (String sysctl : sysctls) {
      String[] parts = sysctl.split("=", 2);
      if (parts.length < 2) {
        throw new AgentException.InvalidSpec("--sysctl '" + sysctl + "' is not NAME=VALUE");
      }
      settings.put(parts[0], parts[1]);
    }
    if (!settings.isEmpty()) {
      body.put("sysctls", settings);
    }
    body.putIf("pid_mode", Optional.ofNullable(pid));
    body.putIf("ipc_mode", Optional.ofNullable(ipc));
    body.putIf("userns_mode", Optional.ofNullable(users));
    body.putIf("cgroup_parent", Optional.ofNullable(cgroupParent));
  }

  private static Json device(String text) {
    String[] parts = text.split(":", 3);
    boolean rights = parts.length == 2 && parts[1].matches("[rwm]{1,3}");
    String inside = parts.length > 1 && !rights ? parts[1] : parts[0];
    if (!inside.equals(parts[0])) {
      throw new AgentException.Unsupported(
          "--device '%s': a device has the same path inside, write --device %s"
              .formatted(text, parts[0]));
    }
    String may = rights ? parts[1] : parts.length == 3 ? parts[2] : "rwm";
    return Json.object()
        .put("path", parts[0])
        .put("read", may.contains("r"))
        .put("write", may.contains("w"))
        .put("mknod", may.contains("m"))
        .build();
  }
}
