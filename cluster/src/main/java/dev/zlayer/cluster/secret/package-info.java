/**
 * Secrets of a cluster: stored under a key that only the nodes have which store the state, and
 * given from there to the nodes that need them.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cluster.secret;
