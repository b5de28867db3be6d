/**
 * The contestants that pull images, and the images they pull. Pulling starts from an empty store
 * each time. The big image is made once, by a process of its own, and kept for later runs.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.bench.pull;
