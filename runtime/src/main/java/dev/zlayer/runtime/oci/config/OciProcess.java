package dev.zlayer.runtime.oci.config;

import dev.zlayer.container.Resources;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.AppArmor;
import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The {@code process} part: what runs, as whom, with which rights and bounds. */
final class OciProcess {
  static final String INIT_PATH = "/sbin/.zlayer-init";
  private static final Set<String> LIMITS =
      Set.of(
          "as",
          "core",
          "cpu",
          "data",
          "fsize",
          "locks",
          "memlock",
          "msgqueue",
          "nice",
          "nofile",
          "nproc",
          "rss",
          "rtprio",
          "rttime",
          "sigpending",
          "stack");

  private static final long FILES_SOFT = 1024;
  private static final long FILES_HARD = 524_288;

  private OciProcess() {}

  static Json of(BundleInput input) {
    var process = input.spec().process();
    List<String> env =
        Environment.withDefaults(input.hostname(), process.terminal())
            .addLines(input.image().env())
            .add(process.env())
            .addDevices(input.extra().env())
            .lines();
    var section =
        Json.object()
            .put("terminal", process.terminal())
            .putIf(
                "consoleSize",
                process.size().filter(_ -> process.terminal()).map(BundleConfig::consoleSize))
            .put("user", user(input.user()))
            .put("args", args(input))
            .put("env", env)
            .put("cwd", workdir(input))
            .put("capabilities", capabilities(input))
            .put("rlimits", limits(input.spec().resources(), input.host()))
            .put(
                "noNewPrivileges",
                input.spec().security().noNewPrivileges() && !input.spec().security().privileged());
    section.put("oomScoreAdj", oomScore(input.spec().resources(), input.host()));
    section.putIf("apparmorProfile", apparmor(input));
    return section.build();
  }

  /** By default it is the kernel's standard, not that of the agent, which is killed last. */
  private static int oomScore(Resources resources, KernelFacts host) {
    return resources.oomScoreAdjust().isPresent()
        ? oomScore(resources.oomScoreAdjust().getAsInt(), host)
        : host.canRaiseLimits() ? 0 : Math.max(0, host.oomScore());
  }

  /**
   * What was asked for; else the default where there is one, which a privileged container lacks.
   */
  private static Optional<String> apparmor(BundleInput input) {
    SecuritySpec security = input.spec().security();
    if (security.apparmor().isEmpty()) {
      return security.privileged() ? Optional.empty() : defaultProfile(input.host());
    }
    String profile = security.apparmor().get();
    if (profile.equals(AppArmor.UNCONFINED)) {
      return Optional.empty();
    }
    if (!AppArmor.enabled()) {
      throw new AgentException.Unsupported(
          "security_opt apparmor=%s: the kernel of this host does not use AppArmor"
              .formatted(profile));
    }
    if (!AppArmor.loaded(profile)) {
      throw new AgentException.InvalidSpec(
          "security_opt apparmor=%s: no such profile is loaded; load it with apparmor_parser"
              .formatted(profile));
    }
    return Optional.of(profile);
  }

  /** Where it should be and is not, a container does not run without it silently. */
  static Optional<String> defaultProfile(KernelFacts host) {
    if (host.apparmor().isPresent()
        && host.apparmorProblem().isPresent()
        && !AppArmor.loaded(host.apparmor().get())) {
      throw new AgentException.Unsupported(
          "the AppArmor profile '%s' of containers is not loaded (%s): restart the agent to load it, or choose security_opt apparmor=unconfined"
              .formatted(host.apparmor().get(), host.apparmorProblem().get()));
    }
    return host.apparmor();
  }

  static Json user(User user) {
    return Json.object()
        .put("uid", user.uid())
        .put("gid", user.gid())
        .put("additionalGids", user.extraGids())
        .build();
  }

  static String workdir(BundleInput input) {
    String workdir = input.spec().process().workdir().or(() -> input.image().workdir()).orElse("/");
    String path = workdir.isEmpty() ? "/" : workdir;
    if (!path.startsWith("/")) {
      throw new AgentException.InvalidSpec(
          "working directory '%s' has to be an absolute path".formatted(path));
    }
    return path;
  }

  static Json capabilities(List<String> names) {
    return Json.object()
        .put("bounding", names)
        .put("effective", names)
        .put("permitted", names)
        .build();
  }

  private static Json capabilities(BundleInput input) {
    return capabilities(CapabilitySet.of(input.spec().security(), input.host().capabilities()));
  }

  private static List<String> args(BundleInput input) {
    if (!input.spec().process().init()) {
      return input.command();
    }
    var args = new ArrayList<>(List.of(INIT_PATH, "--"));
    args.addAll(input.command());
    return args;
  }

  private static int oomScore(int score, KernelFacts host) {
    if (score < -1000 || score > 1000) {
      throw new AgentException.InvalidSpec("oom score goes from -1000 to 1000, not " + score);
    }
    if (score < host.oomScore() && !host.canRaiseLimits()) {
      throw new AgentException.Unsupported(
          "oom score %d: the agent has %d and lacks the capability SYS_RESOURCE to go below it"
              .formatted(score, host.oomScore()));
    }
    return score;
  }

  private static List<Json> limits(Resources resources, KernelFacts host) {
    Map<String, Json> limits = new LinkedHashMap<>();
    limits.put("nofile", limit("nofile", files(host), host));
    resources.ulimits().entrySet().stream()
        .sorted(Map.Entry.comparingByKey())
        .forEach(
            entry -> {
              String name = entry.getKey().toLowerCase(Locale.ROOT);
              if (!LIMITS.contains(name)) {
                throw new AgentException.InvalidSpec(
                    "'%s' is not a ulimit: write a name such as nofile".formatted(entry.getKey()));
              }
              limits.put(name, limit(name, entry.getValue(), host));
            });
    return List.copyOf(limits.values());
  }

  /** As Docker has it on a host with systemd, whatever the agent has for itself. */
  private static Resources.Ulimit files(KernelFacts host) {
    long own = host.hardLimits().getOrDefault("nofile", -1L);
    boolean enough = host.canRaiseLimits() || Long.compareUnsigned(FILES_HARD, own) <= 0;
    long hard = enough ? FILES_HARD : own;
    return new Resources.Ulimit(Math.min(FILES_SOFT, hard), hard);
  }

  private static Json limit(String name, Resources.Ulimit limit, KernelFacts host) {
    if (limit.soft() < -1
        || limit.hard() < -1
        || Long.compareUnsigned(limit.soft(), limit.hard()) > 0) {
      throw new AgentException.InvalidSpec(
          "ulimit %s: the soft bound %d is above the hard bound %d"
              .formatted(name, limit.soft(), limit.hard()));
    }
    long own = host.hardLimits().getOrDefault(name, -1L);
    if (Long.compareUnsigned(limit.hard(), own) > 0 && !host.canRaiseLimits()) {
      throw new AgentException.Unsupported(
          "ulimit %s: the agent's own hard bound is %d and it lacks the capability SYS_RESOURCE"
              .formatted(name, own));
    }
    return Json.object()
        .put("type", "RLIMIT_" + name.toUpperCase(Locale.ROOT))
        .put("soft", unsigned(limit.soft()))
        .put("hard", unsigned(limit.hard()))
        .build();
  }

  /** -1 is "unlimited", which the kernel writes as the largest unsigned number. */
  private static Json unsigned(long value) {
    return Json.of(new java.math.BigDecimal(Long.toUnsignedString(value)));
  }
}
