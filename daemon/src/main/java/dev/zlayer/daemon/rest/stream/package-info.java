/**
 * Conversations with processes: output as lines, terminals over WebSockets. Each conversation has
 * one loop that owns its threads and ends them.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.daemon.rest.stream;
