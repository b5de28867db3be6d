/** Verbs about single containers, and about what runs as a whole; one class each. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cli.command.container;
