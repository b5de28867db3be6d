/**
 * Credentials for registries where Docker and its relatives keep them: one file per user, and the
 * programs that it names. Calls block; nothing is remembered between them.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.host.credential;
