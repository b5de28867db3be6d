package dev.zlayer.proxy.tls;

import java.time.Instant;

/**
 * A certificate as servers read it.
 *
 * @param chain the host's certificate, then those of its issuers
 * @param key its private key, PKCS #8 without a password
 */
public record PemPair(String chain, String key, Instant notAfter) {
  /** Never prints the key. */
  @Override
  public String toString() {
    return "certificate until " + notAfter;
  }
}
