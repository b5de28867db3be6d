/**
 * Whether something may start: what services and jobs say about themselves, and what that means for
 * those who wait for them. Pure; for one node and for a cluster.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.depend;
