package dev.zlayer.host.linux;

/** Which hierarchy of control groups the kernel offers. */
public enum CgroupMode {
  /** One hierarchy per controller. */
  V1,
  /** One hierarchy for all controllers. */
  V2,
  /** Controllers in hierarchies of their own, and the unified one mounted beside them. */
  HYBRID,
  /** No control groups are mounted. */
  NONE
}
