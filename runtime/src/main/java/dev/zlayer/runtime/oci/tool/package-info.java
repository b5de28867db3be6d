/**
 * The programs that do the work: OCI runtimes, conmon, an init. Finds out which of them work here
 * and calls them; every call has a deadline and every failure names the program. Owns no threads.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.runtime.oci.tool;
