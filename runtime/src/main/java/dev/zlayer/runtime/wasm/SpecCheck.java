package dev.zlayer.runtime.wasm;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.Mount;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.container.Resources;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.error.AgentException;
import java.nio.file.Files;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Refuses what a module cannot be given. What it has no use for, and cannot miss, is accepted: it
 * has one thread, no capabilities, no root file system to protect.
 */
final class SpecCheck {
  private SpecCheck() {}

  static void check(ContainerSpec spec) {
    process(spec.process());
    network(spec.network());
    resources(spec.resources());
    security(spec.security());
    refuse(spec.gpu().isPresent(), "gpu: a module cannot use one");
    mounts(spec.fileSystem().mounts());
  }

  private static void process(ProcessSpec process) {
    refuse(process.user().isPresent(), "user: WebAssembly modules have no user");
    refuse(!process.extraGroups().isEmpty(), "groups: WebAssembly modules have no groups");
    refuse(process.terminal(), "a terminal: a module has plain streams");
    refuse(process.init(), "an init process: a module has no processes");
    refuse(
        process.workdir().filter(directory -> !directory.equals("/")).isPresent(),
        "a working directory: WASI has none, give the program full paths");
  }

  /**
   * A bridge and its name servers are what every container of a deployment is given; a module
   * leaves them aside. What somebody wrote because it should be reached is refused.
   */
  private static void network(NetworkSpec network) {
    String reason = "a module has no network";
    switch (network.mode()) {
      case NetworkSpec.Mode.None _, NetworkSpec.Mode.Bridge _ -> {}
      case NetworkSpec.Mode.Host _ -> throw refused("the host's network: " + reason);
      case NetworkSpec.Mode.Shared _ -> throw refused("another container's network: " + reason);
    }
    refuse(!network.ports().isEmpty(), "published ports: " + reason);
    refuse(!network.hosts().isEmpty(), "extra hosts: " + reason);
    refuse(network.hostname().isPresent(), "a host name: " + reason);
  }

  private static void resources(Resources resources) {
    String reason = "a module is a thread of the agent, whose only limit is memory";
    refuse(resources.cpus().isPresent(), "a cpu limit: " + reason);
    refuse(resources.cpuShares().isPresent(), "cpu shares: " + reason);
    refuse(resources.cpuset().isPresent(), "a cpu set: " + reason);
    refuse(resources.memoryReservationBytes().isPresent(), "a memory reservation: " + reason);
    refuse(resources.memorySwapBytes().isPresent(), "a swap limit: " + reason);
    refuse(resources.memorySwappiness().isPresent(), "swappiness: " + reason);
    refuse(resources.oomScoreAdjust().isPresent(), "an out of memory score: " + reason);
    refuse(resources.oomKillDisabled(), "no killing when out of memory: " + reason);
    refuse(resources.blockIoWeight().isPresent(), "a block weight: " + reason);
    refuse(!resources.ulimits().isEmpty(), "ulimits: " + reason);
    refuse(resources.cgroupParent().isPresent(), "a control group: " + reason);
  }

  private static void security(SecuritySpec security) {
    refuse(security.privileged(), "privileges: a module has none");
    refuse(!security.addCapabilities().isEmpty(), "capabilities: a module has none");
    refuse(!security.devices().isEmpty(), "devices: a module has none");
    refuse(!security.sysctls().isEmpty(), "sysctls: a module has no kernel of its own");
    refuse(
        !(security.pid() instanceof SecuritySpec.Namespace.Private)
            || !(security.ipc() instanceof SecuritySpec.Namespace.Private),
        "shared namespaces: a module has none");
    refuse(
        security.users().filter(SecuritySpec.Users.PRIVATE::equals).isPresent(),
        "users of its own: a module runs as nobody in particular");
    refuse(
        !(security.seccomp() instanceof SecuritySpec.Seccomp.Default),
        "a seccomp profile: a module makes no system calls");
    refuse(
        security.apparmor().filter(profile -> !profile.equals("unconfined")).isPresent(),
        "an AppArmor profile: a module has no process of its own");
  }

  private static void mounts(List<Mount> mounts) {
    Set<String> targets = new HashSet<>();
    for (Mount mount : mounts) {
      String target = mount.target();
      if (!target.startsWith("/") || target.indexOf('\0') >= 0) {
        throw new AgentException.InvalidSpec(
            "'%s' is not an absolute path to mount to".formatted(target));
      }
      if (!targets.add(target)) {
        throw new AgentException.InvalidSpec("two mounts have the target '%s'".formatted(target));
      }
      switch (mount) {
        case Mount.Bind(var source, _, _, var propagation) -> {
          bind(source);
          refuse(propagation.isPresent(), "the propagation of mounts: a module sees none");
        }
        case Mount.Named(var name, _, _, var subpath) -> {
          named(name);
          refuse(subpath.isPresent(), "a part of a volume: give a module the volume");
        }
        case Mount.Anonymous _ -> {}
        case Mount.Supplied _ ->
            throw refused("%s from a bucket: modules are given no copies".formatted(target));
        case Mount.Tmpfs _ ->
            throw refused("%s in memory: give a module a volume".formatted(target));
      }
    }
  }

  private static void bind(java.nio.file.Path source) {
    if (!source.isAbsolute() || !Files.exists(source)) {
      throw new AgentException.InvalidSpec(
          "%s cannot be mounted: there is no such directory".formatted(source));
    }
    refuse(
        !Files.isDirectory(source),
        "mounting the file %s: a module is given directories".formatted(source));
  }

  private static void named(String name) {
    if (!name.matches("[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}")) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a volume name: use up to 63 letters, digits, dots and hyphens"
              .formatted(name));
    }
  }

  private static void refuse(boolean wrong, String what) {
    if (wrong) {
      throw refused(what);
    }
  }

  private static AgentException refused(String what) {
    return new AgentException.Unsupported("runtime 'wasm': " + what);
  }
}
