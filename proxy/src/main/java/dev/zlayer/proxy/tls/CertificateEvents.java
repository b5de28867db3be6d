package dev.zlayer.proxy.tls;

import java.time.Instant;

/** Is informed of what happens to certificates; called by their owner, so it returns at once. */
public interface CertificateEvents {
  CertificateEvents NONE =
      new CertificateEvents() {
        @Override
        public void renewed(HostTls host, String issuer, Instant notAfter) {}

        @Override
        public void failed(HostTls host, String error) {}
      };

  /** A host has another certificate. */
  void renewed(HostTls host, String issuer, Instant notAfter);

  /** A certificate could not be obtained, or one that was given cannot be used. */
  void failed(HostTls host, String error);
}
