/**
 * Figures for Prometheus. Counters and histograms of our own: the text format is small, and a
 * library for it would be the larger part of what is loaded at the start. No threads.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.daemon.metrics;
