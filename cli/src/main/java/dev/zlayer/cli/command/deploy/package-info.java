/** Verbs about deployments and their services; one class each. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cli.command.deploy;
