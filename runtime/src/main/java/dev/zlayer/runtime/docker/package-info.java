/**
 * Runs containers through a Docker Engine, over its HTTP API. The engine keeps everything: identity
 * and spec are labels of the container, so that an agent that starts anew finds its containers by
 * asking. In memory is only what Docker cannot tell: that a stop is under way, and how a container
 * ended that is gone.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.runtime.docker;
