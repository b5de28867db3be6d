/**
 * {@code zlayer run}: Docker's flags, read by topic, and one container made from them. What cannot
 * be honoured is refused with what to write instead.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cli.command.run;
