/** The daemon itself: in the foreground, in the background, as a unit of systemd, its settings. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cli.command.daemon;
