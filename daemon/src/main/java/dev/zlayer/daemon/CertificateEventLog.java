package dev.zlayer.daemon;

import dev.zlayer.daemon.log.Log;
import dev.zlayer.engine.secret.SealedRecords;
import dev.zlayer.engine.secret.SecretKey;
import dev.zlayer.engine.secret.SecretStore;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.proxy.tls.AcmeConfig;
import dev.zlayer.proxy.tls.CertificateEvents;
import dev.zlayer.proxy.tls.HostTls;
import dev.zlayer.proxy.tls.ManagedCertificates;
import dev.zlayer.spec.value.SecretRef;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.time.Instant;
import java.util.Map;

/** What happens to certificates, as events among all others; a failure is logged as well. */
record CertificateEventLog(StateStore store, TimeSource clock, Log log)
    implements CertificateEvents {
  /** Opens the certificates that report here. */
  ManagedCertificates open(
      SecretKey key, SecretStore secrets, AcmeConfig acme, Supervisor supervisor)
      throws InterruptedException {
    return ManagedCertificates.open(
        new ManagedCertificates.Parts(
            new SealedRecords(store, key, "certificate"),
            (deployment, name) -> secrets.find(deployment, new SecretRef.OfDeployment(), name),
            acme,
            this,
            clock,
            supervisor));
  }

  @Override
  public void renewed(HostTls host, String issuer, Instant notAfter) {
    record(
        "certificate.renewed",
        host,
        detail(host).put("issuer", issuer).put("not_after", notAfter.toString()));
  }

  @Override
  public void failed(HostTls host, String error) {
    log.warn("no certificate", Map.of("host", host.host(), "reason", error));
    record("certificate.failed", host, detail(host).put("reason", error));
  }

  private static Json.Builder detail(HostTls host) {
    return Json.object().put("deployment", host.deployment()).put("kind", host.kind());
  }

  /** A full disk keeps no certificate from being renewed. */
  private void record(String kind, HostTls host, Json.Builder detail) {
    try {
      store.commit(Change.of(new Event(clock.instant(), kind, host.host(), detail.build())));
    } catch (AgentException e) {
      log.warn(
          "an event was lost", Map.of("event", kind, "reason", String.valueOf(e.getMessage())));
    }
  }
}
