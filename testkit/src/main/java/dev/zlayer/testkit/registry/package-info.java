/**
 * A real registry on a free loopback port. It owns one process, ended by its id on close, and one
 * temporary directory; requests block the calling thread.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.testkit.registry;
