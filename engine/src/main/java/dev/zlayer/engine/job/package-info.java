/**
 * Runs that end: what was asked for, what is decided, what is done, what is kept. One loop owns the
 * book of executions and starts one thread per run; every decision is durable before it is acted
 * on, so a kill at any point leaves something that the next start goes on with. Touches containers
 * through the runtime port and the state store.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.engine.job;
