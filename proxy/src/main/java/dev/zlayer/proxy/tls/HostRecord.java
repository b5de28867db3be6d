package dev.zlayer.proxy.tls;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.StoredFormat;
import java.nio.charset.StandardCharsets;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * What is kept of a host whose certificate this agent gets itself.
 *
 * @param authority who is asked, as {@code history} and {@code order} say
 * @param givenBy the authority that gave {@code pem}
 * @param order the one that is under way, or was when the agent ended
 * @param error why the last order failed
 */
record HostRecord(
    String authority,
    String givenBy,
    Optional<PemPair> pem,
    OrderHistory history,
    Optional<PendingOrder> order,
    Optional<String> error) {
  static final StoredFormat FORMAT = StoredFormat.of("the record of a certificate");

  /**
   * An order that may have to be continued by the next agent.
   *
   * @param key the private key that the certificate will have
   * @param url where the authority keeps it; empty until the authority has answered
   * @param resumed whether an agent has continued it; that is done once
   */
  record PendingOrder(String key, Optional<String> url, boolean resumed) {}

  static HostRecord none(String authority) {
    return new HostRecord(
        authority, "", Optional.empty(), OrderHistory.NONE, Optional.empty(), Optional.empty());
  }

  /** What another authority gave is served until the new one has answered. */
  HostRecord askedOf(String other) {
    return authority.equals(other)
        ? this
        : new HostRecord(
            other, givenBy, pem, OrderHistory.NONE, Optional.empty(), Optional.empty());
  }

  HostRecord with(OrderHistory history) {
    return new HostRecord(authority, givenBy, pem, history, order, error);
  }

  HostRecord with(Optional<PendingOrder> order) {
    return new HostRecord(authority, givenBy, pem, history, order, error);
  }

  HostRecord obtained(PemPair pem, OrderHistory history) {
    return new HostRecord(
        authority, authority, Optional.of(pem), history, Optional.empty(), Optional.empty());
  }

  HostRecord failed(String error, OrderHistory history) {
    return new HostRecord(authority, givenBy, pem, history, Optional.empty(), Optional.of(error));
  }

  HostRecord withError(String error) {
    return new HostRecord(authority, givenBy, pem, history, order, Optional.of(error));
  }

  /** It is served until there is another one, which is due at once. */
  HostRecord revoked() {
    return new HostRecord(authority, "", pem, history, Optional.empty(), error);
  }

  /** The host's own certificate. */
  Optional<X509Certificate> certificate() {
    return pem.map(one -> PemText.parse(one.chain()).certificates().getFirst());
  }

  /** How long what is served lasts; empty when another authority gave it. */
  Optional<RenewalPlanner.Validity> validity() {
    return certificate().filter(_ -> givenBy.equals(authority)).map(HostRecord::validity);
  }

  static RenewalPlanner.Validity validity(X509Certificate certificate) {
    return new RenewalPlanner.Validity(
        certificate.getNotBefore().toInstant(), certificate.getNotAfter().toInstant());
  }

  String print() {
    return new String(JsonText.bytes(json()), StandardCharsets.UTF_8);
  }

  Json.Obj json() {
    return FORMAT
        .begin()
        .put("authority", authority)
        .put("given_by", givenBy)
        .putIf("chain", pem.map(PemPair::chain))
        .putIf("key", pem.map(PemPair::key))
        .put("orders", history.orders().stream().map(Instant::toString).toList())
        .put("failures", history.failures())
        .putIf("not_before", history.notBefore().map(Instant::toString))
        .putIf(
            "order",
            order.map(
                one ->
                    Json.object()
                        .put("key", one.key())
                        .putIf("url", one.url())
                        .put("resumed", one.resumed())
                        .build()))
        .putIf("error", error)
        .build();
  }

  static HostRecord parse(String text, String place) {
    Json json = FORMAT.upgrade(JsonText.parse(text.getBytes(StandardCharsets.UTF_8)), place);
    return new HostRecord(
        json.at("authority").string().orElse(""),
        json.at("given_by").string().orElse(""),
        pem(json),
        new OrderHistory(
            json.at("orders").strings().stream().map(Instant::parse).toList(),
            json.at("failures").integer().orElse(0L).intValue(),
            json.at("not_before").string().map(Instant::parse)),
        Optional.of(json.at("order")).filter(one -> !one.isNull()).map(HostRecord::order),
        json.at("error").string());
  }

  private static Optional<PemPair> pem(Json json) {
    Optional<String> chain = json.at("chain").string();
    Optional<String> key = json.at("key").string();
    if (chain.isEmpty() || key.isEmpty()) {
      return Optional.empty();
    }
    List<X509Certificate> certificates = PemText.parse(chain.get()).certificates();
    return Optional.of(
        new PemPair(chain.get(), key.get(), certificates.getFirst().getNotAfter().toInstant()));
  }

  private static PendingOrder order(Json json) {
    return new PendingOrder(
        json.at("key").string().orElse(""),
        json.at("url").string(),
        json.at("resumed").bool().orElse(false));
  }
}
