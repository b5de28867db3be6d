/**
 * Joins several agents to a cluster: who is a member, what each node runs, and how nodes reach each
 * other. etcd decides what only one node may do; what one node alone knows stays in its own store.
 * An agent that is in no cluster loads nothing of this module.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cluster;
