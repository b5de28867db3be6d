/**
 * Measurements, side by side with peers in one run, printed as ratios; never shipped, never a test
 * that judges times. The main thread runs one work after the other. It expects to be alone in
 * namespaces of its own (the script {@code benchmark} makes them), so that whatever a peer leaves
 * behind ends with it.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.bench;
