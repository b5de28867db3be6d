/**
 * This node's place in a cluster, if it is in one: opened with the agent, or by a request. Nothing
 * of the module {@code cluster} is loaded before.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.daemon.cluster;
