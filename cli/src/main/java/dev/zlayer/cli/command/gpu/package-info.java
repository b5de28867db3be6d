/** The verbs about the GPUs of a node. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cli.command.gpu;
