/**
 * Who waits for whom: where services of one node publish what they have reached, and in which order
 * they begin. Owns no thread and touches nothing.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.engine.depend;
