/**
 * The daemon as the verbs see it: requests, streams of JSON lines, terminals over WebSocket, and
 * what went wrong there as an exception with its exit code. No threads of its own.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cli.client;
