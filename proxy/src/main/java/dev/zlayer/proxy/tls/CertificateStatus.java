package dev.zlayer.proxy.tls;

import java.time.Instant;
import java.util.Optional;

/**
 * How the certificate of one host is.
 *
 * @param issuer who signed the one that is served; empty when there is none
 * @param renewal when another one is asked for next; empty when somebody else has to do it
 * @param error why there is none, or why the last renewal failed
 */
public record CertificateStatus(
    String host,
    HostTls.Kind kind,
    String deployment,
    Optional<String> issuer,
    Optional<Instant> notAfter,
    Optional<Instant> renewal,
    Optional<String> error) {}
