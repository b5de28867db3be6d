/**
 * Leads connections to healthy replicas: through rules of the kernel, which go on without the
 * agent, or where those cannot lead through a relay of ours. {@link dev.zlayer.proxy.RelayLoop}
 * owns threads. It may touch one nftables table, sockets, and the file it is given.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.proxy;
