/**
 * Schedules: when a job is due, and what becomes of an occurrence that comes too late or too early
 * after the one before. Times and choices are pure; one loop owns one thread and the durable state
 * of all schedules. Triggers jobs and commits to the state store, nothing else.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.engine.cron;
