/**
 * Files of the agent: where each lies, how it is replaced without ever being half written, and who
 * holds the data directory. The only package that knows directory names.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.host.file;
