/**
 * One class per verb. A verb parses its words, asks one thing of the agent, and prints; it owns no
 * threads and decides nothing.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cli.command;
