/**
 * The name server of deployments: names of services and replicas from what the engine says, all
 * others from the machine's own servers. {@link dev.zlayer.proxy.dns.NameServer} owns the threads.
 * It listens on loopback and reads the machine's list of servers.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.proxy.dns;
