/**
 * Deployments of a whole cluster. Data goes one way: a request changes what is desired, the leader
 * makes assignments of it ({@link dev.zlayer.cluster.deploy.ClusterPlan} decides, pure), and each
 * node applies its own and reports. {@link dev.zlayer.cluster.deploy.Leader} and {@link
 * dev.zlayer.cluster.deploy.NodeShares} are owners with a thread each.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cluster.deploy;
