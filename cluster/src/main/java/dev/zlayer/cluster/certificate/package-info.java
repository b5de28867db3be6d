/**
 * Certificates of a cluster: its own authority, and one certificate per node. Private keys are made
 * where they are used; only that of the authority is copied, to nodes that run etcd.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cluster.certificate;
