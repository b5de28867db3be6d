package dev.zlayer.spec.network;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import java.time.Duration;
import java.util.Optional;

/** How the ingress encrypts what it exchanges with clients of an endpoint. */
@Doc("How the ingress encrypts what it exchanges with clients of an endpoint.")
public record EncryptionSpec(
    @Doc("Serve the hosts with TLS; where their certificates come from.") Optional<TlsSpec> tls,
    @Doc("Redirect requests without TLS; else they are served, too.") @Default("true")
        boolean redirectHttp,
    @Doc("How long browsers use TLS only for these hosts (HSTS; default: not at all).")
        Optional<Duration> hsts) {
  /** Without TLS. */
  public static final EncryptionSpec NONE =
      new EncryptionSpec(Optional.empty(), true, Optional.empty());
}
