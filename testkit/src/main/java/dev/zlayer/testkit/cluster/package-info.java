/**
 * Several machines in network namespaces of this one, faults of all kinds, and the check of what a
 * cluster did while they happened.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.testkit.cluster;
