package dev.zlayer.cluster.schedule;

import java.util.Map;
import java.util.TreeMap;

/** What replicas that compute together have to know about each other. */
final class Ranks {
  private Ranks() {}

  /**
   * One process per replica, so the rank is that of the replica; each sees its own GPUs alone, so
   * within its node it is always the first.
   */
  static Map<String, String> variables(Workload workload, int number) {
    if (workload.distributed().isEmpty()) {
      return Map.of();
    }
    Workload.Distributed settings = workload.distributed().get();
    var variables = new TreeMap<String, String>();
    variables.put("RANK", Integer.toString(number - 1));
    variables.put("WORLD_SIZE", Integer.toString(workload.replicas()));
    variables.put("LOCAL_RANK", "0");
    variables.put("LOCAL_WORLD_SIZE", "1");
    variables.put("MASTER_ADDR", "1." + settings.service());
    variables.put("MASTER_PORT", Integer.toString(settings.masterPort()));
    switch (settings.backend()) {
      case NCCL -> variables.put("NCCL_SOCKET_IFNAME", "eth0");
      case GLOO -> variables.put("GLOO_SOCKET_IFNAME", "eth0");
      case MPI -> {}
    }
    return variables;
  }
}
