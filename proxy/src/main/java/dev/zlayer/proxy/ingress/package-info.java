/**
 * HTTP routing by host and path: HAProxy carries the traffic as a process that outlives the agent;
 * the agent writes its configuration and changes its servers through its sockets.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.proxy.ingress;
