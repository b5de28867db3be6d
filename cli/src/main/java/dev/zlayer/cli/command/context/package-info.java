/** The verbs about named daemons; they ask none. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cli.command.context;
