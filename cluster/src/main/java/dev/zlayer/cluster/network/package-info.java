/**
 * The network between nodes: each node has a subnet of its own, and a VXLAN interface for those of
 * the others. {@link dev.zlayer.cluster.network.OverlayPlanner} compares what is desired with what
 * the kernel has (pure); {@link dev.zlayer.cluster.network.Overlay} observes and applies. All of it
 * is state of the kernel, so it outlives the agent.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cluster.network;
