package dev.zlayer.cli.doctor;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.CgroupMode;
import dev.zlayer.host.linux.CgroupSupport;
import dev.zlayer.host.probe.HostFacts;
import dev.zlayer.host.probe.HostPart;
import dev.zlayer.host.probe.HostProbe;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The machine: its kernel, control groups, programs and firewall. */
final class HostChecks {
  private static final String USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin";
  private static final Duration LIMIT = Duration.ofSeconds(10);

  /** Since then there is openat2, by which paths inside containers are followed. */
  private static final int[] OLDEST_KERNEL = {5, 6};

  private static final Pattern KERNEL = Pattern.compile("(\\d+)\\.(\\d+).*");
  private static final List<String> CONTROLLERS = List.of("cpu", "memory", "pids");
  private static final Set<String> NEEDED = Set.of("conmon", "bridge", "host-local", "nft");
  private static final Set<String> USEFUL = Set.of("conntrack");

  private final HostProbe probe;
  private final Optional<String> ociRuntime;

  /**
   * For one host.
   *
   * @param path the caller's search path
   * @param ociRuntime the one that the configuration names
   */
  HostChecks(Optional<String> path, Optional<String> ociRuntime) {
    this.probe =
        new HostProbe(
            path.map(own -> own + ":" + USUAL_PATH).orElse(USUAL_PATH), HostProbe.CNI_DIRECTORIES);
    this.ociRuntime = ociRuntime;
  }

  List<Finding> run() throws InterruptedException {
    HostFacts facts = probe.probe();
    var findings = new ArrayList<Finding>();
    findings.add(kernel(facts.kernel()));
    findings.add(
        facts.overlay()
            ? Finding.ok("overlayfs", "the kernel has overlay file systems")
            : Finding.failed(
                "overlayfs",
                "the kernel has no overlay file systems",
                "run 'modprobe overlay', or use a kernel that has them"));
    if (facts.root() || facts.cgroups() == CgroupMode.NONE) { // others are given them, or not
      findings.add(cgroups(facts.cgroups()));
    }
    findings.add(ociRuntime(facts));
    for (HostPart part : facts.parts()) {
      if (NEEDED.contains(part.name()) || USEFUL.contains(part.name())) {
        findings.add(tool(part));
      }
    }
    findings.add(firewall(facts));
    return findings;
  }

  static Finding kernel(String release) {
    Matcher version = KERNEL.matcher(release);
    if (!version.matches()) {
      return Finding.warning("kernel", "unknown version " + release, "use Linux 5.6 or later");
    }
    int major = Integer.parseInt(version.group(1));
    int minor = Integer.parseInt(version.group(2));
    boolean old =
        major < OLDEST_KERNEL[0] || (major == OLDEST_KERNEL[0] && minor < OLDEST_KERNEL[1]);
    return old
        ? Finding.failed("kernel", "Linux " + release + " is too old", "use Linux 5.6 or later")
        : Finding.ok("kernel", "Linux " + release);
  }

  private static Finding cgroups(CgroupMode mode) {
    if (mode == CgroupMode.NONE) {
      return Finding.failed(
          "cgroups", "no control groups are mounted", "mount cgroup2 on /sys/fs/cgroup");
    }
    try {
      CgroupSupport support = CgroupSupport.read();
      List<String> missing =
          CONTROLLERS.stream().filter(name -> !support.controllers().contains(name)).toList();
      if (!missing.isEmpty()) {
        return Finding.failed(
            "cgroups",
            "the controllers %s are not available".formatted(String.join(", ", missing)),
            support.v2()
                ? "enable them in /sys/fs/cgroup/cgroup.subtree_control of the parent group"
                : "remove cgroup_disable from the kernel's command line, or use cgroup v2");
      }
      return support.v2()
          ? Finding.ok("cgroups", "version 2 with " + String.join(", ", CONTROLLERS))
          : Finding.warning(
              "cgroups",
              "version 1, in which some limits do not exist",
              "boot with systemd.unified_cgroup_hierarchy=1");
    } catch (IOException e) {
      return Finding.failed(
          "cgroups", "cannot be read: " + e.getMessage(), "mount cgroup2 on /sys/fs/cgroup");
    }
  }

  private Finding ociRuntime(HostFacts facts) throws InterruptedException {
    if (ociRuntime.isPresent()) {
      String named = ociRuntime.get();
      Optional<Path> path = named.startsWith("/") ? Optional.of(Path.of(named)) : probe.find(named);
      return path.isPresent()
          ? works(path.get())
          : Finding.failed(
              "oci-runtime",
              named + ", which the configuration names, is not installed",
              "install it, or remove oci_runtime from the configuration");
    }
    for (String name : HostFacts.OCI_RUNTIMES) {
      Optional<Path> path = facts.part(name).flatMap(HostPart::path);
      if (path.isPresent()) {
        return works(path.get());
      }
    }
    return Finding.failed(
        "oci-runtime",
        "none of %s is installed".formatted(String.join(", ", HostFacts.OCI_RUNTIMES)),
        "apt install runc");
  }

  private static Finding works(Path program) throws InterruptedException {
    Optional<String> problem = problem(program.toString(), "--version");
    return problem
        .map(
            said ->
                Finding.failed(
                    "oci-runtime",
                    program + " does not work: " + said,
                    "install it again, or name another with oci_runtime in the configuration"))
        .orElseGet(() -> Finding.ok("oci-runtime", program.toString()));
  }

  private static Finding tool(HostPart part) {
    if (part.present()) {
      String version = part.version().map(text -> " " + text).orElse("");
      return Finding.ok(part.name(), part.path().orElseThrow() + version);
    }
    String detail = "is not installed; it is needed to " + part.purpose();
    return NEEDED.contains(part.name())
        ? Finding.failed(part.name(), detail, part.advice())
        : Finding.warning(part.name(), detail, part.advice());
  }

  private static Finding firewall(HostFacts facts) throws InterruptedException {
    Optional<Path> nft = facts.part("nft").flatMap(HostPart::path);
    if (nft.isEmpty()) {
      return Finding.skipped("firewall", "nft is not installed", "apt install nftables");
    }
    if (!facts.root()) {
      return Finding.skipped("firewall", "only root can read the rules", "run as root");
    }
    Optional<String> problem;
    try {
      problem = failure(nft.get().toString(), "list", "tables");
    } catch (AgentException.Timeout e) {
      // it lists anew whenever somebody changes a rule meanwhile, which may go on for long
      return Finding.warning(
          "firewall",
          "not known: " + e.getMessage(),
          "look for a program that changes the rules again and again with 'nft monitor'");
    } catch (AgentException e) {
      problem = Optional.of(String.valueOf(e.getMessage()));
    }
    return problem
        .map(
            said ->
                Finding.failed(
                    "firewall",
                    "the kernel's packet filter cannot be used: " + said,
                    "run 'modprobe nf_tables', or use a kernel that has it"))
        .orElseGet(() -> Finding.ok("firewall", "the kernel's packet filter works"));
  }

  /** Why a program does not work, by what it says. */
  private static Optional<String> problem(String... command) throws InterruptedException {
    try {
      return failure(command);
    } catch (AgentException e) {
      return Optional.of(String.valueOf(e.getMessage()));
    }
  }

  private static Optional<String> failure(String... command) throws InterruptedException {
    CommandResult result = Processes.run(Command.of(command), Deadline.after(LIMIT));
    return result.code() == 0
        ? Optional.empty()
        : Optional.of(
            (result.stderr() + result.stdout())
                .lines()
                .findFirst()
                .orElse("exit code " + result.code()));
  }
}
