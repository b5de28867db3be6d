package dev.zlayer.spec.network;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Shorthand;
import java.util.Optional;

/** Where the certificate of a host comes from: exactly one of these. */
@Doc("Where the certificate of a host comes from: exactly one of these.")
@Shorthand(value = "issuer", as = "acme, self_signed or passthrough")
public record TlsSpec(
    @Doc(
            "acme or self_signed, the same as one of these keys with true; or passthrough, with"
                + " protocol tcp: the container has the certificate, and the ingress decrypts"
                + " nothing.")
        Optional<Issuer> issuer,
    @Doc("Order it from an ACME server, as the agent's configuration names it.") @Default("false")
        boolean acme,
    @Doc("The secret that holds certificate, issuers and key, as PEM.") Optional<String> secret,
    @Doc("Let the local authority of the agent sign it.") @Default("false") boolean selfSigned) {

  /** Who issues a certificate that is in no secret. */
  public enum Issuer {
    ACME,
    SELF_SIGNED,
    /** Nobody for us: the container has it. */
    PASSTHROUGH
  }

  /** Whether the container decrypts, not the ingress. */
  public boolean passedThrough() {
    return issuer.filter(Issuer.PASSTHROUGH::equals).isPresent();
  }

  /** Whether an ACME server issues it. */
  public boolean fromAcme() {
    return acme || issuer.filter(Issuer.ACME::equals).isPresent();
  }

  /** Whether the local authority issues it. */
  public boolean fromLocalAuthority() {
    return selfSigned || issuer.filter(Issuer.SELF_SIGNED::equals).isPresent();
  }

  /** How many sources are written; only one makes sense. */
  public int sources() {
    return (issuer.isPresent() ? 1 : 0)
        + (acme ? 1 : 0)
        + (secret.isPresent() ? 1 : 0)
        + (selfSigned ? 1 : 0);
  }

  /** For people. */
  public String source() {
    return secret
        .map(name -> "secret '" + name + "'")
        .orElse(passedThrough() ? "the container" : fromAcme() ? "acme" : "self_signed");
  }
}
