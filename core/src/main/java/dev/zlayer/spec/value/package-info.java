/**
 * Small values that a deployment file writes as one text: sizes, signals, capabilities, users,
 * references to secrets. Each has a static {@code parse} that says what to write when it refuses.
 * No threads here, and nothing is touched.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.spec.value;
