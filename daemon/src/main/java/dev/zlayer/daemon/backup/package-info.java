/** Copies of the agent's own state, and agents that begin with one. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.daemon.backup;
