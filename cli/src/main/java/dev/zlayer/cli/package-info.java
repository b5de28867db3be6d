/**
 * The command line: what a person types, and what they see. The only place that reads the process's
 * environment, prints, and exits.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cli;
