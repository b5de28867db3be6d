/**
 * Who belongs to a cluster: how a node begins one, joins it and leaves it, and which nodes are
 * alive. A node's own part lies below one directory, the rest in the store of the cluster. {@link
 * dev.zlayer.cluster.member.Registration} is an owner with a thread.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cluster.member;
