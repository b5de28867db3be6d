package dev.zlayer.cluster.deploy;

import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.job.CronSpec;

/**
 * That one node alone may run the containers of a service or schedule. Its key is made when the
 * node gets it and removed when it has ended them, or can be sure to have: it is never changed, so
 * the revision that made it says who has it, also to a node that comes back late.
 *
 * @param node that has it
 * @param stop so many seconds after its last renewal the node ends the containers, by its clock
 */
public record ClusterClaim(String node, long stop) {
  private static final long MILLIS = 1000;

  /**
   * Others may have it when they have waited so long since they saw the last renewal. What is over
   * the time of the node is for the end of its processes, and for clocks that are not equally fast.
   */
  long takeoverMillis() {
    return stop * MILLIS * 7 / 4;
  }

  /** Whether containers of it are to run in one place of the cluster only. */
  static boolean needed(ServiceSpec service) {
    return switch (service.rtype()) {
      case SERVICE -> service.lifecycle().single();
      case CRON -> service.cron().overlap() == CronSpec.Overlap.FORBID;
      case JOB -> false;
    };
  }

  /** Of a schedule, whose executions come one after the other then. */
  static boolean exclusive(ServiceSpec job) {
    return job.rtype() == RunType.CRON && needed(job);
  }

  String json() {
    return JsonText.print(RecordJson.write(this));
  }

  static ClusterClaim parse(String json) {
    return RecordJson.read(JsonText.parse(json), ClusterClaim.class);
  }
}
