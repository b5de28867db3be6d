/** The verbs about several machines: the cluster, and its nodes. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cli.command.cluster;
