/**
 * Notifies operators of what happened, by webhook or program. Reads numbered events and keeps the
 * number of the last one that was delivered, so a kill neither loses one nor skips any.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.daemon.notification;
