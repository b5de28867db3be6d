package dev.zlayer.runtime.docker;

import dev.zlayer.container.Resources;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Limits in the words of the engine. */
final class LimitsSection {
  private static final double NANOS = 1e9;

  private LimitsSection() {}

  static void put(Json.Builder host, Resources resources) {
    changeable(host, resources);
    resources.memorySwappiness().ifPresent(value -> host.put("MemorySwappiness", value));
    resources.oomScoreAdjust().ifPresent(value -> host.put("OomScoreAdj", value));
    if (resources.oomKillDisabled()) {
      host.put("OomKillDisable", true);
    }
    host.put("Ulimits", resources.ulimits().entrySet().stream().map(LimitsSection::limit).toList());
    resources.cgroupParent().ifPresent(parent -> host.put("CgroupParent", parent));
  }

  /** Those that can change while a container runs. */
  private static void changeable(Json.Builder host, Resources resources) {
    resources.cpus().ifPresent(cpus -> host.put("NanoCpus", Math.round(cpus * NANOS)));
    resources.cpuShares().ifPresent(shares -> host.put("CpuShares", shares));
    resources.cpuset().ifPresent(set -> host.put("CpusetCpus", set));
    resources.memoryBytes().ifPresent(bytes -> host.put("Memory", bytes));
    resources.memorySwapBytes().ifPresent(bytes -> host.put("MemorySwap", bytes));
    resources.memoryReservationBytes().ifPresent(bytes -> host.put("MemoryReservation", bytes));
    host.put("PidsLimit", resources.pids().orElse(Resources.DEFAULT_PIDS));
    resources.blockIoWeight().ifPresent(weight -> host.put("BlkioWeight", weight));
  }

  /** What is to be sent to change from one set of limits to another. */
  static Json update(Resources before, Resources after) {
    unchanged("memory_swappiness", before.memorySwappiness(), after.memorySwappiness());
    unchanged("oom_score_adj", before.oomScoreAdjust(), after.oomScoreAdjust());
    unchanged("oom_kill_disable", before.oomKillDisabled(), after.oomKillDisabled());
    unchanged("ulimits", before.ulimits(), after.ulimits());
    unchanged("cgroup_parent", before.cgroupParent(), after.cgroupParent());
    taken("cpu", before.cpus().isPresent(), after.cpus().isPresent());
    taken("cpuset", before.cpuset().isPresent(), after.cpuset().isPresent());
    taken("memory", before.memoryBytes().isPresent(), after.memoryBytes().isPresent());
    Json.Builder body = Json.object();
    changeable(body, after);
    if (after.memoryBytes().isPresent() && after.memorySwapBytes().isEmpty()) {
      // else the engine compares with the old sum of memory and swap, and may refuse
      body.put("MemorySwap", 2 * after.memoryBytes().getAsLong());
    }
    return body.build();
  }

  private static void unchanged(String name, Object before, Object after) {
    if (!before.equals(after)) {
      throw new AgentException.Unsupported(
          "docker cannot change " + name + " of a container that exists");
    }
  }

  private static void taken(String name, boolean before, boolean after) {
    if (before && !after) {
      throw new AgentException.Unsupported(
          "docker cannot take the limit of " + name + " away, only change it");
    }
  }

  private static Json limit(Map.Entry<String, Resources.Ulimit> ulimit) {
    return Json.object()
        .put("Name", ulimit.getKey())
        .put("Soft", ulimit.getValue().soft())
        .put("Hard", ulimit.getValue().hard())
        .build();
  }

  /** Warnings with which the engine says that it left something out that was asked for. */
  static List<String> discarded(List<String> warnings, Resources asked) {
    return warnings.stream()
        .map(warning -> warning.toLowerCase(Locale.ROOT))
        .filter(warning -> warning.contains("discarded"))
        .filter(
            warning ->
                asked.pids().orElse(Resources.DEFAULT_PIDS) != Resources.DEFAULT_PIDS
                    || !warning.contains("pids limit"))
        .toList();
  }
}
