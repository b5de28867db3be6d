/**
 * Forwards connections to healthy replicas: by rules of the kernel, which keep working without the
 * agent, or where those cannot by a relay of ours. {@link dev.zlayer.proxy.Relay} owns threads. It
 * may touch one nftables table, sockets, and the directory it is given.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.proxy;
