package dev.zlayer.cli.doctor;

import dev.zlayer.json.Json;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The certificates of hosts that endpoints serve, and that of a node in a cluster. Pure. */
final class CertificateChecks {
  private static final String NAME = "host-certificates";
  private static final Duration SOON = Duration.ofDays(14);
  private static final String REMEDY = "see 'zlayer ingress certs' and docs/certificates.md";

  private static final String NODE_NAME = "node-certificate";
  private static final String NODE_REMEDY =
      "see 'zlayer cluster status'; 'zlayer cluster rotate-certs' makes another one";

  private CertificateChecks() {}

  /** About what the daemon answers to {@code /cluster/certificate}. */
  static Finding node(Json certificate, Instant now) {
    Instant end = Instant.parse(certificate.at("not_after").string().orElseThrow());
    Instant renewal = Instant.parse(certificate.at("renewal").string().orElseThrow());
    String reason = certificate.at("problem").string().map(text -> ": " + text).orElse("");
    if (!end.isAfter(now)) {
      return Finding.failed(NODE_NAME, "expired at " + end + reason, NODE_REMEDY);
    }
    return reason.isEmpty()
        ? Finding.ok(NODE_NAME, "valid until %s, renewed at %s".formatted(end, renewal))
        : Finding.warning(NODE_NAME, "expires at " + end + reason, NODE_REMEDY);
  }

  /** Findings about what the daemon answers to {@code /ingress/certificates}. */
  static List<Finding> run(Json certificates, Instant now) {
    var findings = new ArrayList<Finding>();
    for (Json one : certificates.items()) {
      String host = one.at("host").string().orElse("");
      Optional<Instant> end = one.at("not_after").string().map(Instant::parse);
      Optional<Instant> renewal = one.at("renewal").string().map(Instant::parse);
      String reason = one.at("error").string().map(error -> ": " + error).orElse("");
      if (end.isEmpty()) {
        findings.add(Finding.failed(NAME, "%s has none%s".formatted(host, reason), REMEDY));
      } else if (!end.get().isAfter(now)) {
        findings.add(
            Finding.failed(
                NAME, "that of %s expired at %s%s".formatted(host, end.get(), reason), REMEDY));
      } else if (end.get().isBefore(now.plus(SOON))
          && (renewal.isEmpty() || !reason.isEmpty() || renewal.get().isBefore(now))) {
        findings.add(
            Finding.warning(
                NAME, "that of %s expires at %s%s".formatted(host, end.get(), reason), REMEDY));
      }
    }
    int hosts = certificates.items().size();
    if (findings.isEmpty() && hosts > 0) {
      findings.add(Finding.ok(NAME, "%d, all valid".formatted(hosts)));
    }
    return findings;
  }
}
