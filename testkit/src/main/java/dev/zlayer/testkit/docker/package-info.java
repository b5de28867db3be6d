/** A real Docker Engine for the length of a test. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.testkit.docker;
