/**
 * What is done before a main process starts: one class per action, and the runner that knows about
 * retries, time limits and what a failure means. Runs on the caller's thread; a step that takes too
 * long is interrupted and waited for. Opens connections, and makes helper containers through the
 * runtime port.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.engine.init;
