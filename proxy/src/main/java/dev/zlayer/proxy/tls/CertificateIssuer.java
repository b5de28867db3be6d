package dev.zlayer.proxy.tls;

import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** An authority on the network. Blocks; may be used by several threads. */
interface CertificateIssuer {
  /**
   * Carries out one order.
   *
   * @return the chain, the host's own certificate first
   */
  List<X509Certificate> issue(Order order) throws OrderFailed, InterruptedException;

  void revoke(X509Certificate certificate) throws OrderFailed, InterruptedException;

  /**
   * What is ordered.
   *
   * @param key the certificate will have it
   * @param url of an order that an earlier agent placed
   * @param placed called with the address of the order before anything is done for it; durable when
   *     it returns
   */
  record Order(String host, KeyPair key, Optional<String> url, Consumer<String> placed) {}

  /** Why there is no certificate. */
  final class OrderFailed extends Exception {
    private final boolean general;
    private final Optional<Instant> retryAfter;

    /**
     * A failure.
     *
     * @param general it is not about this host: others would fail as well
     */
    OrderFailed(String reason, boolean general, Optional<Instant> retryAfter) {
      super(reason);
      this.general = general;
      this.retryAfter = retryAfter;
    }

    boolean general() {
      return general;
    }

    Optional<Instant> retryAfter() {
      return retryAfter;
    }
  }
}
