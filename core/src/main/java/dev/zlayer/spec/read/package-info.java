/**
 * The reader: bytes of a deployment file in, records or problems out; and the JSON Schema and the
 * reference text of the same records. No threads here; reading the file is the caller's part.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.spec.read;
