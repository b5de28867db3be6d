package dev.zlayer.spec.network;

import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.value.ByteSize;
import java.time.Duration;
import java.util.Optional;

/** Whom the ingress lets through, what it answers itself, and what it adds for replicas. */
@Doc("Whom the ingress lets through, what it answers itself, and what it adds for replicas.")
public record RoutePolicy(
    @Doc("The secret with lines user:password; requests without one of them get 401.")
        Optional<String> basicAuth,
    @Doc("Larger bodies get 413, those without a length 411 (default: no limit).")
        Optional<ByteSize> maxBody,
    @Doc(
            "The text or HTML of responses with 503, in maintenance and while no replica is ready;"
                + " at most 10,000 bytes.")
        Optional<String> maintenancePage,
    @Doc("Begin connections to replicas with the PROXY protocol, which has the client's address.")
        Optional<ProxyVersion> sendProxy,
    @Doc(
            "How long a replica gets no requests when it fails much more often than the others;"
                + " longer when it fails again (default: it is not ejected).")
        Optional<Duration> ejectFailing,
    @Doc("http2 speaks HTTP/2 without TLS (h2c) with replicas, as gRPC needs (default: http1).")
        Optional<ReplicaProtocol> replicaProtocol,
    @Doc(
            "How long open connections of a replica that is to stop may continue, such as"
                + " WebSockets and downloads (default: stop_grace_period, at most 10s).")
        Optional<Duration> drain) {
  /** Everybody and everything. */
  public static final RoutePolicy NONE =
      new RoutePolicy(
          Optional.empty(),
          Optional.empty(),
          Optional.empty(),
          Optional.empty(),
          Optional.empty(),
          Optional.empty(),
          Optional.empty());

  /** What is spoken with replicas. */
  public enum ReplicaProtocol {
    HTTP1,
    HTTP2
  }

  /** Versions of the PROXY protocol: as text, and in binary form. */
  public enum ProxyVersion {
    V1,
    V2
  }
}
