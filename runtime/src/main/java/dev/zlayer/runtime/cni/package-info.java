/**
 * Networks of containers: namespaces with an interface on a bridge made by CNI plugins, addresses,
 * published ports and the isolation between networks through an nftables table of our own. {@link
 * dev.zlayer.runtime.cni.NamespacePool} and {@link dev.zlayer.runtime.cni.ReleaseLoop} own a thread
 * each; everything else runs on the caller's. It may touch the run and state directory it is given,
 * and the interfaces and the table that carry its prefix.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.runtime.cni;
