/**
 * Small concurrency tools: owners with their mailboxes, scoped fan-out, undo, deadlines, per-key
 * locks, back-off.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.task;
