/**
 * Who waits for whom: what services tell about themselves, and what that means for those who wait
 * (pure). Owns no thread and touches nothing.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.engine.depend;
