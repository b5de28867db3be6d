/**
 * What routes mean on a node of a cluster: lists of all nodes, requests that another node answers,
 * deployments of the cluster.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.daemon.rest.cluster;
