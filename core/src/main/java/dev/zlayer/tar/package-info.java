/**
 * Reads and writes tar archives as a stream: v7, ustar, pax and GNU, sparse files too. Pure: it
 * owns no threads, touches nothing but the stream it is given, and believes nothing it reads there.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.tar;
