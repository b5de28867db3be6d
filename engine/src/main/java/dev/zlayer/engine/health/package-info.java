/**
 * Whether a replica works: what to try, how to try it, and what a row of results means (pure). Owns
 * no thread: the loop of the service says when. Touches the network and containers.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.engine.health;
