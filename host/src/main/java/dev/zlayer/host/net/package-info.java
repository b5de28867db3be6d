/** What this host's network stack remembers and filters, by its own programs. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.host.net;
