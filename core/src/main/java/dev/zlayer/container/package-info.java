/**
 * Words about containers: identity, what is wanted of one, what is observed of it. Immutable values
 * shared by every runtime, the engine and the API; no I/O.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.container;
