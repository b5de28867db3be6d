/**
 * Small concurrency tools: scoped fan-out, undo, deadlines, per-key locks, back-off. The only place
 * besides {@code *Loop} classes that starts threads.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.task;
