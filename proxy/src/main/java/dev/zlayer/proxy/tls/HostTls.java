package dev.zlayer.proxy.tls;

import java.util.Locale;
import java.util.Optional;

/**
 * Where the certificate of one host name comes from.
 *
 * @param host in lower case; {@code *.example.org} stands for every name one label below
 * @param deployment whose endpoint asks for it, and whose secrets are seen
 * @param secret its name, for {@link Kind#SECRET}
 */
public record HostTls(String host, Kind kind, String deployment, Optional<String> secret) {
  /** Who issues a certificate. */
  public enum Kind {
    /** The local authority of this agent. */
    SELF_SIGNED,
    /** An authority on the network, asked for by ACME. */
    ACME,
    /** Somebody else; chain and key are in a secret. */
    SECRET
  }

  public HostTls {
    host = host.toLowerCase(Locale.ROOT);
  }
}
