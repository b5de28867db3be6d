/**
 * The one family of errors of the agent, who is to blame for each, and what that means at the REST
 * API and the command line (exit code, HTTP status). No threads, no I/O.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.error;
