package dev.zlayer.proxy.tls;

import dev.zlayer.error.AgentException;
import dev.zlayer.proxy.tls.CertificateIssuer.OrderFailed;
import dev.zlayer.proxy.tls.HostRecord.PendingOrder;
import dev.zlayer.task.Owner;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;

/**
 * Decides when which certificate is made, asked for or read anew, and records it first. The state
 * of an {@link Owner}; orders run on threads of their own.
 */
final class CertificateController implements Owner.State {
  private static final int MOST_ORDERS_AT_ONCE = 4;

  /** Secrets and records are held against the clock at least this often. */
  private static final Duration LONGEST_PAUSE = Duration.ofHours(1);

  private static final int LONGEST_ERROR = 500;

  /** What it works with. */
  record Context(
      ManagedCertificates.Parts parts,
      CertificateRecords records,
      RenewalPlanner planner,
      CertificateIssuer issuer,
      Consumer<ManagedCertificates.Published> publisher) {
    Instant now() {
      return parts.clock().instant();
    }

    String directory() {
      return parts.acme().directory();
    }
  }

  /** What is served for a host, and what is to be said about it. */
  private record Current(
      Optional<PemPair> pem,
      Optional<String> issuer,
      Optional<Instant> renewal,
      Optional<String> error) {}

  private final Owner<CertificateController> owner;
  private final Context context;
  private final Map<String, HostTls> wanted = new TreeMap<>();
  private final Map<String, HostRecord> acme = new HashMap<>();
  private final Map<String, HostRecord> local = new HashMap<>();
  private final Map<String, Current> secrets = new HashMap<>();
  private final Set<String> unread = new TreeSet<>();
  private final Map<String, String> reported = new HashMap<>();
  private final Set<String> ordering = new TreeSet<>();

  /** Read by the first host that needs it: where there is none yet, a key is made for it. */
  private Optional<CertificateRecords.Account> account = Optional.empty();

  CertificateController(Owner<CertificateController> owner, Context context, Set<HostTls> hosts) {
    this.owner = owner;
    this.context = context;
    context.records().prune(context.now());
    want(hosts);
  }

  void want(Set<HostTls> hosts) {
    wanted.clear();
    hosts.stream()
        .sorted(java.util.Comparator.comparing(HostTls::deployment))
        .forEach(host -> wanted.putIfAbsent(host.host(), host));
    refresh();
  }

  void refresh() {
    secrets.keySet().retainAll(wanted.keySet());
    unread.addAll(wanted.keySet());
  }

  String localAuthority() {
    return context.records().authority(context.now()).pem();
  }

  /** The certificate of a host that an authority on the network gave. */
  X509Certificate obtained(String host) {
    return Optional.of(acmeRecord(host))
        .filter(record -> record.validity().isPresent())
        .flatMap(HostRecord::certificate)
        .orElseThrow(
            () ->
                new AgentException.NotFound(
                    "certificate of host '" + host + "'", "none was obtained by ACME"));
  }

  boolean revoked(String host) {
    save(host, acmeRecord(host).revoked());
    return true;
  }

  @Override
  public Duration round() {
    Instant now = context.now();
    Instant next = now.plus(LONGEST_PAUSE);
    var certificates = new HashMap<String, PemPair>();
    var status = new ArrayList<CertificateStatus>();
    for (HostTls host : wanted.values()) {
      Current current = current(host, now);
      current.pem().ifPresent(pem -> certificates.put(host.host(), pem));
      if (current.renewal().isPresent() && current.renewal().get().isAfter(now)) {
        next = earlier(next, current.renewal().get());
      }
      status.add(
          new CertificateStatus(
              host.host(),
              host.kind(),
              host.deployment(),
              current.issuer(),
              current.pem().map(PemPair::notAfter),
              current.renewal(),
              current.error()));
    }
    context
        .publisher()
        .accept(new ManagedCertificates.Published(Map.copyOf(certificates), List.copyOf(status)));
    return Duration.between(now, next);
  }

  private Current current(HostTls host, Instant now) {
    try {
      return switch (host.kind()) {
        case SELF_SIGNED -> selfSigned(host, now);
        case SECRET -> secret(host, now);
        case ACME -> acme(host, now);
      };
    } catch (AgentException e) { // one host keeps nobody from the others
      return new Current(
          Optional.empty(), Optional.empty(), Optional.empty(), Optional.of(text(e)));
    }
  }

  private Current selfSigned(HostTls host, Instant now) {
    LocalAuthority authority = context.records().authority(now);
    String id = authority.certificate().getSerialNumber().toString(16);
    HostRecord kept =
        local.computeIfAbsent(
            host.host(),
            name ->
                context.records().host(HostTls.Kind.SELF_SIGNED, name).orElse(HostRecord.none(id)));
    HostRecord record = kept.askedOf(id);
    Optional<RenewalPlanner.Validity> lasting = record.validity();
    if (lasting.isPresent()) {
      RenewalPlanner.Validity validity = lasting.get();
      Instant renewal = RenewalPlanner.renewal(host.host(), validity);
      if (renewal.isAfter(now) && !validity.notBefore().isAfter(now)) {
        return served(record, record.certificate(), Optional.of(renewal), Optional.empty());
      }
    }
    HostRecord made =
        HostRecord.none(id).obtained(authority.issue(host.host(), now), OrderHistory.NONE);
    context.records().put(HostTls.Kind.SELF_SIGNED, host.host(), made);
    local.put(host.host(), made);
    renewed(host, made);
    return selfSigned(host, now);
  }

  /** A broken secret does not replace a good one that was read before, as long as that is valid. */
  private Current secret(HostTls host, Instant now) {
    Optional<Current> before = Optional.ofNullable(secrets.get(host.host()));
    Optional<PemPair> good =
        before.flatMap(Current::pem).filter(pem -> pem.notAfter().isAfter(now));
    if (!unread.remove(host.host()) && good.isPresent()) {
      return before.orElseThrow();
    }
    Current read = read(host, now);
    if (read.pem().isEmpty() && good.isPresent()) {
      read = new Current(good, before.orElseThrow().issuer(), Optional.empty(), read.error());
    }
    secrets.put(host.host(), read);
    return read;
  }

  private Current read(HostTls host, Instant now) {
    String name = host.secret().orElse("");
    Optional<String> text = context.parts().secrets().find(host.deployment(), name);
    if (text.isEmpty()) {
      return refused(host, "secret '%s' was never set".formatted(name));
    }
    try {
      PemPair pem = CertificateCheck.pem(text.get(), host.host(), now);
      X509Certificate own = PemText.parse(pem.chain()).certificates().getFirst();
      reported.remove(host.host());
      return new Current(
          Optional.of(pem), Optional.of(issuer(own)), Optional.empty(), Optional.empty());
    } catch (AgentException.InvalidSpec e) {
      return refused(host, "secret '%s' cannot serve %s: %s".formatted(name, host.host(), text(e)));
    }
  }

  private Current refused(HostTls host, String error) {
    failed(host, error);
    return new Current(Optional.empty(), Optional.empty(), Optional.empty(), Optional.of(error));
  }

  private Current acme(HostTls host, Instant now) {
    HostRecord record = acmeRecord(host.host());
    Optional<X509Certificate> own = record.certificate();
    Optional<String> obstacle = context.parts().acme().obstacle(host.host());
    if (obstacle.isPresent()) {
      failed(host, obstacle.get());
      return served(record, own, Optional.empty(), obstacle);
    }
    Instant due = due(host.host(), record, now);
    if (!due.isAfter(now) && ordering.size() < MOST_ORDERS_AT_ONCE && ordering.add(host.host())) {
      order(host, record, now);
    }
    return served(record, own, Optional.of(due.isBefore(now) ? now : due), record.error());
  }

  private Instant due(String host, HostRecord record, Instant now) {
    boolean resumable =
        record.order().filter(one -> one.url().isPresent() && !one.resumed()).isPresent();
    Instant due =
        resumable
            ? Instant.EPOCH
            : context.planner().next(host, record.history(), record.validity(), now);
    Instant paused =
        account()
            .pausedUntil()
            .map(until -> earlier(until, now.plus(OrderHistory.LONGEST_WAIT)))
            .orElse(Instant.EPOCH);
    return due.isAfter(paused) ? due : paused;
  }

  /** Recorded before anybody is asked: what a crash interrupts counts, and is not asked twice. */
  private void order(HostTls host, HostRecord record, Instant now) {
    Optional<PendingOrder> left =
        record.order().filter(one -> one.url().isPresent() && !one.resumed());
    PendingOrder order =
        left.map(one -> new PendingOrder(one.key(), one.url(), true))
            .orElseGet(
                () ->
                    new PendingOrder(
                        PemText.print(PemText.generate().getPrivate()), Optional.empty(), false));
    OrderHistory history = left.isPresent() ? record.history() : record.history().placed(now);
    save(host.host(), record.with(history).with(Optional.of(order)));
    var request =
        new CertificateIssuer.Order(
            host.host(),
            PemText.keyPair(order.key()),
            order.url(),
            url -> owner.ask(state -> state.placed(host.host(), url)));
    owner.spawn(
        "the order for " + host.host(),
        () -> {
          try {
            List<X509Certificate> chain = context.issuer().issue(request);
            return state -> state.arrived(host, order.key(), chain);
          } catch (OrderFailed e) {
            return state -> state.refused(host, e);
          }
        },
        e -> state -> state.refused(host, new OrderFailed(text(e), false, Optional.empty())));
  }

  private boolean placed(String host, String url) {
    HostRecord record = acmeRecord(host);
    save(
        host,
        record.with(
            record
                .order()
                .map(one -> new PendingOrder(one.key(), Optional.of(url), one.resumed()))));
    return true;
  }

  private void arrived(HostTls host, String key, List<X509Certificate> chain) {
    Instant now = context.now();
    ordering.remove(host.host());
    X509Certificate own = chain.getFirst();
    try {
      CertificateCheck.covers(own, host.host());
      CertificateCheck.fits(own, PemText.keyPair(key).getPrivate());
    } catch (AgentException.InvalidSpec e) {
      refused(
          host,
          new OrderFailed("the certificate cannot be used: " + text(e), false, Optional.empty()));
      return;
    }
    HostRecord record = acmeRecord(host.host());
    RenewalPlanner.Validity validity = HostRecord.validity(own);
    var pem = new PemPair(PemText.print(chain), key, validity.notAfter());
    OrderHistory history = context.planner().obtained(host.host(), record.history(), validity, now);
    HostRecord made = record.obtained(pem, history);
    if (history.failures() > 0) {
      made =
          made.withError(
              "the new certificate is valid from %s to %s and due for renewal already: check the"
                      .formatted(validity.notBefore(), validity.notAfter())
                  + " clock of this host");
    }
    save(host.host(), made);
    pause(0, Optional.empty());
    renewed(host, made);
  }

  private void refused(HostTls host, OrderFailed failure) {
    Instant now = context.now();
    ordering.remove(host.host());
    String error = shortened(String.valueOf(failure.getMessage()));
    HostRecord record = acmeRecord(host.host());
    save(host.host(), record.failed(error, record.history().failed(failure.retryAfter(), now)));
    if (failure.general()) {
      int failures = Math.min(account().failures() + 1, 1000);
      Instant until = now.plus(context.planner().backoff().delay(failures - 1));
      Instant asked = failure.retryAfter().orElse(until);
      pause(failures, Optional.of(asked.isAfter(until) ? asked : until));
    } else {
      pause(0, Optional.empty());
    }
    failed(host, error);
  }

  private CertificateRecords.Account account() {
    if (account.isEmpty()) {
      account = Optional.of(context.records().account(context.directory()));
    }
    return account.get();
  }

  /** The account itself is read anew: the order may have registered it. */
  private void pause(int failures, Optional<Instant> until) {
    account = Optional.empty();
    if (account().failures() != failures || !account().pausedUntil().equals(until)) {
      CertificateRecords.Account paused = account().paused(failures, until);
      context.records().put(paused);
      account = Optional.of(paused);
    }
  }

  @Override
  public void clockMoved(Duration by) {
    for (String host : Set.copyOf(acme.keySet())) {
      HostRecord record = acmeRecord(host);
      save(host, record.with(record.history().moved(by)));
    }
    account = Optional.empty();
    if (account().pausedUntil().isPresent()) {
      pause(account().failures(), account().pausedUntil().map(until -> until.plus(by)));
    }
  }

  private HostRecord acmeRecord(String host) {
    return acme.computeIfAbsent(
        host,
        name ->
            context
                .records()
                .host(HostTls.Kind.ACME, name)
                .orElseGet(() -> HostRecord.none(context.directory()))
                .askedOf(context.directory()));
  }

  private void save(String host, HostRecord record) {
    context.records().put(HostTls.Kind.ACME, host, record);
    acme.put(host, record);
  }

  private static Current served(
      HostRecord record,
      Optional<X509Certificate> own,
      Optional<Instant> renewal,
      Optional<String> error) {
    return new Current(record.pem(), own.map(CertificateController::issuer), renewal, error);
  }

  private void renewed(HostTls host, HostRecord made) {
    reported.remove(host.host());
    X509Certificate own = made.certificate().orElseThrow();
    context.parts().events().renewed(host, issuer(own), own.getNotAfter().toInstant());
  }

  /** The same error again is not reported again. */
  private void failed(HostTls host, String error) {
    if (!error.equals(reported.put(host.host(), error))) {
      context.parts().events().failed(host, error);
    }
  }

  private static String issuer(X509Certificate own) {
    return own.getIssuerX500Principal().getName();
  }

  private static String text(AgentException e) {
    return shortened(String.valueOf(e.getMessage()));
  }

  private static String shortened(String text) {
    String line = text.strip().replaceAll("\\s+", " ");
    return line.length() <= LONGEST_ERROR ? line : line.substring(0, LONGEST_ERROR) + "...";
  }

  private static Instant earlier(Instant one, Instant other) {
    return one.isBefore(other) ? one : other;
  }
}
