/** The verbs about hosts that endpoints serve, and their certificates. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cli.command.ingress;
