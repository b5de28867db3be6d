package dev.zlayer.spec.check;

import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.network.EncryptionSpec;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.network.EndpointSpec.Protocol;
import dev.zlayer.spec.network.TlsSpec;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.value.HostNames;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Settings of TLS, and that a host has one certificate. */
final class TlsCheck {
  private static final String TLS = "tls";
  private static final String REDIRECT = "redirect_http";
  private static final String HSTS = "hsts";

  /** What needs an endpoint that the ingress serves. */
  static final List<String> KEYS = List.of(TLS, REDIRECT, HSTS);

  private TlsCheck() {}

  /** For an endpoint that the ingress serves. */
  static void check(EndpointSpec endpoint, SpecPath here, Findings findings) {
    EncryptionSpec encryption = endpoint.route().encryption();
    if (encryption.tls().isEmpty()) {
      if (endpoint.protocol() == Protocol.HTTPS) {
        findings.problem(
            here.key(TLS), "is missing, write acme, self_signed or a secret: {secret: NAME}");
      }
      for (String key : List.of(REDIRECT, HSTS)) {
        if (findings.written(here.key(key))) {
          findings.problem(here.key(key), "is only for endpoints with tls, remove it");
        }
      }
      return;
    }
    if (endpoint.protocol() == Protocol.HTTP) {
      findings.problem(
          here.key(TLS), "is only for protocol https or websocket, write protocol: https");
    }
    if (endpoint.route().hosts().contains(HostNames.ANY)) {
      findings.problem(here.key(TLS), "no certificate is for every host, write the names in host");
    }
    if (encryption.tls().get().passedThrough()) {
      findings.problem(
          here.key(TLS),
          "passthrough leaves nothing to route but connections, write protocol: tcp without path");
    }
    if (encryption.tls().get().sources() != 1) {
      findings.problem(here.key(TLS), "needs exactly one of acme, secret and self_signed");
    }
    encryption.hsts().ifPresent(time -> findings.positive(here.key(HSTS), time));
  }

  /** A host has one certificate, whoever serves its paths. */
  static void oneCertificate(DeploymentSpec deployment, Findings findings) {
    var sources = new HashMap<String, Map.Entry<SpecPath, TlsSpec>>();
    deployment
        .services()
        .forEach(
            (name, service) -> {
              List<EndpointSpec> endpoints = service.networking().endpoints();
              for (int i = 0; i < endpoints.size(); i++) {
                SpecPath here = Checks.service(name).key("endpoints").index(i);
                EndpointSpec endpoint = endpoints.get(i);
                if (endpoint.route().encryption().tls().isPresent() && findings.clean(here)) {
                  claim(endpoint, here, sources, findings);
                }
              }
            });
  }

  private static void claim(
      EndpointSpec endpoint,
      SpecPath here,
      Map<String, Map.Entry<SpecPath, TlsSpec>> sources,
      Findings findings) {
    TlsSpec tls = endpoint.route().encryption().tls().orElseThrow();
    for (String host : endpoint.route().hosts()) {
      var first = sources.putIfAbsent(host, Map.entry(here, tls));
      if (first != null && !first.getValue().source().equals(tls.source())) {
        findings.problem(
            here.key(TLS),
            "%s has its certificate from %s at %s, write the same"
                .formatted(host, first.getValue().source(), first.getKey()));
      }
    }
  }
}
