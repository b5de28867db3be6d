/**
 * What all nodes of a cluster agree on, as a small interface: keys with revisions, transactions,
 * leases and watches. Decisions are made on what was read or compared here, never on an older copy.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cluster.store;
