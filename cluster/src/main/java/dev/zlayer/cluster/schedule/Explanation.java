package dev.zlayer.cluster.schedule;

import dev.zlayer.error.AgentException;
import dev.zlayer.oci.Platform;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Why a replica fits nowhere: how many nodes each filter removed, and two remedies, one on the
 * nodes there are and one with another node. Those for the filter that was asked last, since the
 * nodes that it removed lack nothing else.
 */
final class Explanation {
  private static final double MEBIBYTE = 1 << 20;

  private Explanation() {}

  static String of(Workload workload, Pass pass, Map<Filter, Integer> removed) {
    if (removed.isEmpty()) {
      return "service '%s' needs a node: the cluster has none that is alive; start an agent, or add a node to the cluster"
          .formatted(workload.id());
    }
    var counts = new ArrayList<String>();
    Filter last = Filter.STATUS;
    for (Filter filter : Filter.values()) {
      Integer number = removed.get(filter);
      if (number != null) {
        counts.add("%d %s".formatted(number, cause(filter, workload, pass)));
        last = filter;
      }
    }
    String why =
        "none of %d %s fits (%s): %s"
            .formatted(
                pass.size(),
                pass.size() == 1 ? "node" : "nodes",
                String.join(", ", counts),
                remedies(last, workload, pass));
    return last == Filter.PLATFORM
        ? String.valueOf(
            new AgentException.RouteToPeer(workload.id(), systems(workload), why).getMessage())
        : "service '%s' cannot be placed: %s".formatted(workload.id(), why);
  }

  static String gang(Workload workload, int missing, int found, String reason) {
    return "%s; all %d missing replicas of '%s' are placed together (gpu.scheduling: gang), and there is room for %d"
        .formatted(reason, missing, workload.id(), found);
  }

  private static String cause(Filter filter, Workload workload, Pass pass) {
    Demand demand = workload.demand();
    Constraints constraints = workload.constraints();
    return switch (filter) {
      case STATUS -> "cordoned or draining";
      case REFUSED -> "refused it";
      case PLATFORM -> "without a runtime for " + joined(constraints.platforms());
      case RUNTIME -> "without the runtime '%s'".formatted(constraints.runtime().orElse(""));
      case LABELS -> "without the labels of node_selector (%s)".formatted(labels(constraints));
      case PIN -> "other than the one that affinity names";
      case MODE -> "excluded by node_mode";
      case PORTS -> "with a host port in use (%s)".formatted(ports(demand));
      case VOLUMES -> "without its volume (%s)".formatted(String.join(", ", pass.holders(demand)));
      case GPUS ->
          "without %d matching free GPUs"
              .formatted(demand.gpus().map(Demand.Gpus::count).orElse(0));
      case CPU ->
          "with less than %s cpus free (at most %s)"
              .formatted(cpus(demand.cpuMillis()), cpus(pass.mostFree(Filter.CPU)));
      case MEMORY ->
          "with less than %s of memory free (at most %s)"
              .formatted(size(demand.memoryBytes()), size(pass.mostFree(Filter.MEMORY)));
    };
  }

  private static String remedies(Filter last, Workload workload, Pass pass) {
    Demand demand = workload.demand();
    return switch (last) {
      case STATUS -> "uncordon a node, or add a node to the cluster";
      case REFUSED -> // nodes name the remedies for what they lack
          pass.refusal(workload)
              .orElse("enable what it needs on a node, or add a node that has it");
      case PLATFORM ->
          workload.constraints().platforms().isEmpty()
              ? "enable a fitting runtime on a node, or add a peer that has one to the cluster"
              : AgentException.RouteToPeer.remedies(systems(workload), "a node");
      case RUNTIME -> "enable the runtime on a node, or add a node that has it to the cluster";
      case LABELS -> "label a node, or add a node with these labels to the cluster";
      case PIN -> "change the affinity, or add that node to the cluster";
      case MODE -> "choose another node_mode, or add a node to the cluster";
      case PORTS -> "choose another host port, or add a node to the cluster";
      case VOLUMES ->
          "make room on the node that has the volume, or restore the volume on another node";
      case GPUS -> "free GPUs on a node, or add a node that has them to the cluster";
      case CPU, MEMORY ->
          "free resources on a node or ask for less, or add a node with %s cpus and %s of memory to the cluster"
              .formatted(cpus(demand.cpuMillis()), size(demand.memoryBytes()));
    };
  }

  private static String systems(Workload workload) {
    return workload.constraints().platforms().stream()
        .map(Platform::os)
        .distinct()
        .collect(Collectors.joining(" or "));
  }

  private static String joined(List<Platform> platforms) {
    return platforms.stream().map(Platform::toString).sorted().collect(Collectors.joining(" or "));
  }

  private static String labels(Constraints constraints) {
    return constraints.labels().entrySet().stream()
        .map(entry -> entry.getKey() + "=" + entry.getValue())
        .sorted()
        .collect(Collectors.joining(", "));
  }

  private static String ports(Demand demand) {
    return demand.ports().stream()
        .map(port -> port.number() + "/" + port.protocol().name().toLowerCase(Locale.ROOT))
        .sorted()
        .collect(Collectors.joining(", "));
  }

  private static String cpus(long millis) {
    String text = String.format(Locale.ROOT, "%.3f", Math.max(0, millis) / 1000.0);
    return text.replaceFirst("\\.?0+$", "");
  }

  private static String size(long bytes) {
    String text = String.format(Locale.ROOT, "%.1f", Math.max(0, bytes) / MEBIBYTE);
    return text.replaceFirst("\\.0$", "") + " MiB";
  }
}
