/**
 * The person at the terminal: keys as they are typed, the size of the window, signals. {@code
 * KeyboardLoop} owns the only thread.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cli.terminal;
