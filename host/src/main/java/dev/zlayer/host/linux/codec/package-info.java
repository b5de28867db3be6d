/**
 * Decompression by shared libraries of the system, which are two to four times as fast as what Java
 * has. Every stream belongs to one thread; nothing is touched but the memory of the stream.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.host.linux.codec;
