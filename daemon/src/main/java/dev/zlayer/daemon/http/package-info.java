/**
 * The HTTP API: which routes there are, how a request becomes a call and an answer becomes bytes,
 * what is refused at the threshold, and how every failure becomes one kind of problem document. The
 * server's own threads are virtual; a route's code runs on one of them and may block.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.daemon.http;
