/**
 * etcd as the store of a cluster: a client of its JSON gateway, and the process of a member. The
 * only package that knows etcd. {@link dev.zlayer.cluster.etcd.EtcdServer} leaves a process behind
 * that outlives the agent.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cluster.etcd;
