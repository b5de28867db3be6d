/**
 * A small blocking HTTP/1.1 client for sockets of this machine and for engines behind TCP or TLS:
 * what {@code java.net.http} cannot do is a unix socket and a connection taken over as raw streams.
 * Everything that a peer sends is read with limits.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.host.http;
