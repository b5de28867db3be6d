/**
 * What every runtime has to pass: tests written against the ports alone, and a small vocabulary of
 * workloads that each runtime turns into something it can run. Threads only through task scopes;
 * touches nothing but the runtime under test.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.testkit.contract;
