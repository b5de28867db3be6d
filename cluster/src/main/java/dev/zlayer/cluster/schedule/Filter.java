package dev.zlayer.cluster.schedule;

/**
 * What excludes a node, in the order in which nodes are asked. A node counts for the first filter
 * that removes it, so one that a late filter removed lacks nothing that an earlier one asks for.
 */
public enum Filter {
  /** Cordoned or draining. */
  STATUS,
  /** The node itself answered that it cannot run it. */
  REFUSED,
  /** None of its runtimes serves the image's platform. */
  PLATFORM,
  /** It does not have the runtime that the workload names. */
  RUNTIME,
  /** {@code node_selector}. */
  LABELS,
  /** {@code affinity: pin}. */
  PIN,
  /** A volume lies on another node. */
  VOLUMES,
  /** {@code node_mode} of the workload, or of one that runs there. */
  MODE,
  /** A host port is in use. */
  PORTS,
  GPUS,
  CPU,
  MEMORY
}
