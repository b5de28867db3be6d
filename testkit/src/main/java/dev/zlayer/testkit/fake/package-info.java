/**
 * A runtime and its images in memory, which behave as the labels of a container say. No threads of
 * its own: what is due is done by whoever looks next, and waiters sleep on one condition. Touches
 * neither disk nor network.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.testkit.fake;
