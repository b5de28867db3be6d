/**
 * Which node runs what. {@link dev.zlayer.cluster.schedule.Scheduler#plan} is a pure function from
 * the nodes, the desired workloads and the current placements to the next steps; whoever calls it
 * writes them and calls it again when something has changed. No threads here, no clock, and nothing
 * is touched.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cluster.schedule;
