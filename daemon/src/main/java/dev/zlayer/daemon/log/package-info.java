/** What the agent tells its operator: one line per fact, as text or JSON. No threads. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.daemon.log;
