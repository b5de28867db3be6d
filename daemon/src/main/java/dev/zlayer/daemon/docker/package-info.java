/**
 * The API of the Docker Engine on a socket of its own, for clients that know no other. One class
 * per resource; each turns requests into calls of what the agent's own API uses too, and what comes
 * back into the shapes that clients of Docker read. Nothing is stored here: ids are recorded on the
 * containers themselves or derived from them.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.daemon.docker;
