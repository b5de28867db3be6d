/** Verbs about what all of it occupies. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cli.command.system;
