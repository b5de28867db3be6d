/** Who may use the agent besides its owner, and what everybody did: scoped tokens, audit log. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.daemon.access;
