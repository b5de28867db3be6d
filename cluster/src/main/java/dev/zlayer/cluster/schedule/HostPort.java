package dev.zlayer.cluster.schedule;

import dev.zlayer.spec.value.Transport;

/**
 * A port of a node. Addresses are not distinguished: what is bound to one address excludes every
 * other use of the number on that node.
 */
public record HostPort(int number, Transport protocol) {}
