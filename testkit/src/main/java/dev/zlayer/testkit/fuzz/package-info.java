/** Damages sound input at random, always in the same way for the same seed, and has it read. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.testkit.fuzz;
