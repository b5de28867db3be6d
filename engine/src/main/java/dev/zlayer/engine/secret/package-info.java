/**
 * Secrets: kept encrypted in the state store, handed out to whoever resolves a deployment, written
 * to memory as files, and hidden in texts for people. No threads of its own. It may touch the key
 * file and the directory for secret files that it is given.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.engine.secret;
