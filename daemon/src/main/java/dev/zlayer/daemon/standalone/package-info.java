/**
 * Containers that belong to no deployment: {@code zlayer run}. One loop per container that has to
 * be restarted or removed when it ends; all they know is on the container's labels and in the
 * store, so that the next agent goes on.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.daemon.standalone;
