/**
 * JSON as an immutable tree of five sealed shapes, read with limits and written in a fixed order,
 * plus a codec between the tree and records. No I/O beyond the streams it is given.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.json;
