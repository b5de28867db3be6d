/** A real ACME server for tests. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.testkit.acme;
