/**
 * When something is due: cron expressions and the next time after a given one, as pure functions of
 * local time; and what becomes of the times of a schedule. No threads and no clock here.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.schedule;
