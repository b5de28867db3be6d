/**
 * The resources of the REST API, one class each: they turn a call into one act of the agent and its
 * result into JSON. They own nothing and decide nothing.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.daemon.rest;
