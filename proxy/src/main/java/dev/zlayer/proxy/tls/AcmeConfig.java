package dev.zlayer.proxy.tls;

import java.nio.file.Path;
import java.util.Optional;

/**
 * What the operator set for ACME.
 *
 * @param directory the address of the server
 * @param email where the server writes to, if anywhere
 * @param acceptTerms whether the operator accepts the terms of service of the server
 * @param caBundle certificates (PEM) to believe the server by, instead of the system's
 * @param dns whether hosts without a wildcard are validated by DNS-01, too
 * @param dnsHook the program that writes DNS records
 * @param binding an account that exists elsewhere
 */
public record AcmeConfig(
    String directory,
    Optional<String> email,
    boolean acceptTerms,
    Optional<Path> caBundle,
    boolean dns,
    Optional<Path> dnsHook,
    Optional<Binding> binding) {
  public static final String PRODUCTION = "https://acme-v02.api.letsencrypt.org/directory";
  public static final String STAGING = "https://acme-staging-v02.api.letsencrypt.org/directory";

  /**
   * External account binding.
   *
   * @param keyId what the server calls the account
   * @param secret the secret of all deployments that holds the key: base64url, as servers give it
   */
  public record Binding(String keyId, String secret) {}

  /** Orders nothing: the terms are not accepted. */
  public static AcmeConfig none() {
    return new AcmeConfig(
        PRODUCTION,
        Optional.empty(),
        false,
        Optional.empty(),
        false,
        Optional.empty(),
        Optional.empty());
  }

  /** Why nothing can be ordered for a host, before anybody is asked. */
  Optional<String> obstacle(String host) {
    if (!acceptTerms) {
      return Optional.of(
          "the terms of service of %s are not accepted: set acme_accept_terms to true"
              .formatted(directory));
    }
    if (usesDns(host) && dnsHook.isEmpty()) {
      return Optional.of(
          "%s needs validation by DNS: set acme_dns_hook to a program that writes DNS records"
              .formatted(host.startsWith("*.") ? "a wildcard" : "acme_challenge dns"));
    }
    return Optional.empty();
  }

  boolean usesDns(String host) {
    return dns || host.startsWith("*.");
  }
}
