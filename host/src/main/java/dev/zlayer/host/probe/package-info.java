/**
 * Finds out what this host offers to containers. Owns no threads beyond those of a call; it only
 * looks and runs programs that print their version, it changes nothing.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.host.probe;
