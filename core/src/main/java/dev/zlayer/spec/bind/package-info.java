/**
 * Turns a YAML tree into records, and the same records into a JSON Schema and a reference text, by
 * reading the record components and their annotations once as shapes. No threads here; reflection
 * on our own records is the only power used.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.spec.bind;
