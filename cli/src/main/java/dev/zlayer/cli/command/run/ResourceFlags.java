package dev.zlayer.cli.command.run;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** How much of the machine it gets. */
final class ResourceFlags {
  private static final Pattern ULIMIT = Pattern.compile("([a-z]+)=(-?[0-9]+)(?::(-?[0-9]+))?");

  @Option(
      names = {"-m", "--memory"},
      paramLabel = "SIZE",
      description = "Memory limit, e.g. 512m")
  @Nullable String memory;

  @Option(
      names = "--memory-swap",
      paramLabel = "SIZE",
      description = "Memory plus swap limit; -1 for unlimited swap")
  @Nullable String memorySwap;

  @Option(
      names = "--memory-reservation",
      paramLabel = "SIZE",
      description = "Memory reservation (soft limit)")
  @Nullable String memoryReservation;

  @Option(
      names = "--memory-swappiness",
      paramLabel = "0..100",
      description = "Swappiness (0 to 100)")
  @Nullable Integer swappiness;

  @Option(names = "--cpus", paramLabel = "NUMBER", description = "Number of CPUs, e.g. 1.5")
  @Nullable Double cpus;

  @Option(
      names = {"-c", "--cpu-shares"},
      paramLabel = "WEIGHT",
      description = "CPU weight relative to other containers (default: 1024)")
  @Nullable Integer cpuShares;

  @Option(names = "--cpuset-cpus", paramLabel = "LIST", description = "CPUs to run on, e.g. 0-3")
  @Nullable String cpuset;

  @Option(names = "--pids-limit", paramLabel = "NUMBER", description = "Process limit")
  @Nullable Long pids;

  @Option(names = "--oom-kill-disable", description = "Disable the OOM killer")
  boolean oomKillDisable;

  @Option(
      names = "--oom-score-adj",
      paramLabel = "NUMBER",
      description = "Adjust the OOM score (-1000 to 1000)")
  @Nullable Integer oomScore;

  @Option(
      names = "--blkio-weight",
      paramLabel = "WEIGHT",
      description = "Block I/O weight (10 to 1000)")
  @Nullable Integer blkioWeight;

  @Option(
      names = "--ulimit",
      paramLabel = "NAME=SOFT[:HARD]",
      description = "Set a resource limit, e.g. nofile=1024:4096")
  List<String> ulimits = List.of();

  @Option(
      names = "--gpus",
      paramLabel = "GPUS",
      description = "GPUs: all, a number, or device=0,1; more keys after commas, see docs/gpu.md")
  @Nullable String gpus;

  void into(Json.Builder body) {
    var resources =
        Json.object()
            .putIf("memory", size("--memory", memory))
            .putIf(
                "memory_swap",
                "-1".equals(memorySwap) ? Optional.of("-1") : size("--memory-swap", memorySwap))
            .putIf("memory_reservation", size("--memory-reservation", memoryReservation))
            .putIf("memory_swappiness", Optional.ofNullable(swappiness))
            .putIf("cpu", Optional.ofNullable(cpus))
            .putIf("cpu_shares", Optional.ofNullable(cpuShares))
            .putIf("cpuset", Optional.ofNullable(cpuset))
            .putIf("pids_limit", Optional.ofNullable(pids))
            .putIf("oom_kill_disable", oomKillDisable ? Optional.of(true) : Optional.empty())
            .putIf("oom_score_adj", Optional.ofNullable(oomScore))
            .putIf("blkio_weight", Optional.ofNullable(blkioWeight))
            .putIf("gpu", Optional.ofNullable(gpus).map(GpuFlag::parse))
            .build();
    if (!resources.members().isEmpty()) {
      body.put("resources", resources);
    }
    Map<String, Json> limits = new LinkedHashMap<>();
    ulimits.forEach(limit -> add(limits, limit));
    if (!limits.isEmpty()) {
      body.put("ulimits", limits);
    }
  }

  static Optional<String> size(String option, @Nullable String text) {
    return Optional.ofNullable(text).map(size -> DockerSize.parse(option, size) + "B");
  }

  private static void add(Map<String, Json> limits, String text) {
    Matcher form = ULIMIT.matcher(text);
    if (!form.matches()) {
      throw new AgentException.InvalidSpec(
          "--ulimit '%s' is not NAME=SOFT[:HARD], write for example nofile=1024:4096"
              .formatted(text));
    }
    long soft = Long.parseLong(form.group(2));
    long hard = form.group(3) == null ? soft : Long.parseLong(form.group(3));
    limits.put(form.group(1), Json.object().put("soft", soft).put("hard", hard).build());
  }
}
