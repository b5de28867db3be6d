/**
 * When something is due: cron expressions and the next time after a given one, as pure functions of
 * local time. No threads and no clock here; time zones are the caller's part.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.schedule;
