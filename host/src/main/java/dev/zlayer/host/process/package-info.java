/**
 * Runs programs of the host. The only package that starts processes; the threads that drain their
 * output end with the call.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.host.process;
