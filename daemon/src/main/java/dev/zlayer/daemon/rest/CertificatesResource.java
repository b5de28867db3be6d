package dev.zlayer.daemon.rest;

import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.proxy.tls.CertificateStatus;
import dev.zlayer.proxy.tls.Certificates;
import dev.zlayer.proxy.tls.HostTls;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** The certificates of the hosts that endpoints serve; their keys never leave the agent here. */
public final class CertificatesResource implements Resource {
  private static final String PEM = "application/x-pem-file";

  private final Certificates certificates;

  /** One host. */
  record CertificateView(
      String host,
      HostTls.Kind kind,
      String deployment,
      Optional<String> issuer,
      Optional<Instant> notAfter,
      Optional<Instant> renewal,
      Optional<String> error) {
    static CertificateView of(CertificateStatus status) {
      return new CertificateView(
          status.host(),
          status.kind(),
          status.deployment(),
          status.issuer(),
          status.notAfter(),
          status.renewal(),
          status.error());
    }
  }

  public CertificatesResource(Certificates certificates) {
    this.certificates = certificates;
  }

  @Override
  public String title() {
    return "Certificates";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.view(
                "/ingress/ca",
                "The certificate of the local authority, which signs for tls: self_signed.",
                _ -> ApiResponse.text(PEM, certificates.localAuthority()))
            .givesType(PEM, "The certificate as PEM."),
        Route.view("/ingress/certificates", "List the certificates of hosts.", _ -> list())
            .givesMany(CertificateView.class),
        Route.post(
                "/ingress/certificates/{host}/revoke",
                "Have the ACME server revoke the certificate of a host, and order another one.",
                this::revoke)
            .givesNothing());
  }

  private ApiResponse revoke(ApiRequest call) throws InterruptedException {
    certificates.revoke(call.path("host"));
    return ApiResponse.done();
  }

  private ApiResponse list() {
    return ApiResponse.json(
        ViewJson.of(certificates.status().stream().map(CertificateView::of).toList()));
  }
}
