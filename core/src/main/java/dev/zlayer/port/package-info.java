/**
 * The interfaces between the parts of the agent, and the values that cross them. Their comments are
 * the specification that every implementation is tested against; implementations live in other
 * modules. No threads, no I/O.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.port;
