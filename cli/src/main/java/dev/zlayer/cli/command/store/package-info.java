/** The verbs about volumes, secrets and networks; one class each. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cli.command.store;
