package dev.zlayer.proxy.tls;

import dev.zlayer.error.AgentException;
import dev.zlayer.port.SealedStore;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Function;

/** Certificates that are made, fetched and renewed by one owner; readers wait for nobody. */
public final class ManagedCertificates implements Certificates, AutoCloseable {
  private static final System.Logger LOG = LazyLogger.of(ManagedCertificates.class);

  /** What the certificates are made from. */
  public record Parts(
      SealedStore store,
      SecretLookup secrets,
      AcmeConfig acme,
      CertificateEvents events,
      TimeSource clock,
      Supervisor supervisor) {}

  /** The text of a secret as a deployment sees it. */
  @FunctionalInterface
  public interface SecretLookup {
    Optional<String> find(String deployment, String name);
  }

  /** What readers see, replaced as a whole. */
  record Published(Map<String, PemPair> certificates, List<CertificateStatus> status) {
    static final Published NOTHING = new Published(Map.of(), List.of());
  }

  private final List<Runnable> listeners = new CopyOnWriteArrayList<>();
  private final List<Consumer<Map<String, String>>> servers = new CopyOnWriteArrayList<>();
  private final Map<String, String> challenges = new ConcurrentHashMap<>();
  private final CertificateIssuer issuer;
  private final Owner<CertificateController> owner;
  private volatile Set<HostTls> wanted = Set.of();
  private volatile Published published = Published.NOTHING;

  private ManagedCertificates(
      Parts parts, RenewalPlanner planner, Function<ChallengeSink, CertificateIssuer> issuers) {
    this.issuer = issuers.apply(new Sink());
    var records = new CertificateRecords(parts.store());
    var context = new CertificateController.Context(parts, records, planner, issuer, this::publish);
    this.owner =
        Owner.of(
            "certificates",
            parts.clock(),
            parts.supervisor(),
            (own, _) -> new CertificateController(own, context, wanted));
  }

  public static ManagedCertificates open(Parts parts) throws InterruptedException {
    return open(
        parts,
        RenewalPlanner.STANDARD,
        sink ->
            new AcmeIssuer(
                parts.acme(), new CertificateRecords(parts.store()), parts.secrets(), sink));
  }

  static ManagedCertificates open(
      Parts parts, RenewalPlanner planner, Function<ChallengeSink, CertificateIssuer> issuer)
      throws InterruptedException {
    var made = new ManagedCertificates(parts, planner, issuer);
    made.owner.start();
    return made;
  }

  @Override
  public void want(Set<HostTls> hosts) {
    wanted = Set.copyOf(hosts);
    owner.ask(
        state -> {
          state.want(hosts);
          return true;
        });
  }

  @Override
  public Optional<PemPair> find(String host) {
    Map<String, PemPair> all = published.certificates();
    String name = host.toLowerCase(Locale.ROOT);
    return Optional.ofNullable(all.get(name))
        .or(() -> CertificateCheck.wildcard(name).map(all::get));
  }

  @Override
  public void listen(Runnable changed) {
    listeners.add(changed);
  }

  @Override
  public void answerBy(Consumer<Map<String, String>> server) {
    servers.add(server);
  }

  @Override
  public Map<String, String> challenges() {
    return Map.copyOf(challenges);
  }

  @Override
  public List<CertificateStatus> status() {
    return published.status();
  }

  @Override
  public void refresh() {
    owner.tell(CertificateController::refresh);
  }

  @Override
  public String localAuthority() {
    return owner.ask(CertificateController::localAuthority);
  }

  @Override
  public void revoke(String host) throws InterruptedException {
    String name = host.toLowerCase(Locale.ROOT);
    X509Certificate certificate = owner.ask(state -> state.obtained(name));
    try {
      issuer.revoke(certificate);
    } catch (CertificateIssuer.OrderFailed e) {
      throw new AgentException.Network(
          "the certificate of %s was not revoked: %s".formatted(name, e.getMessage()), e);
    }
    owner.ask(state -> state.revoked(name));
  }

  @Override
  public void close() {
    owner.close();
  }

  private void publish(Published next) {
    boolean changed = !next.certificates().equals(published.certificates());
    published = next;
    if (changed) {
      notifyListeners();
    }
  }

  private void notifyListeners() {
    for (Runnable listener : listeners) {
      try {
        listener.run();
      } catch (RuntimeException e) {
        LOG.log(System.Logger.Level.ERROR, "a listener of certificates failed", e);
      }
    }
  }

  private final class Sink implements ChallengeSink {
    @Override
    public void present(String token, String authorization) {
      challenges.put(token, authorization);
      servers.forEach(server -> server.accept(challenges()));
    }

    @Override
    public void withdraw(String token) {
      challenges.remove(token);
      for (Consumer<Map<String, String>> server : servers) {
        try {
          server.accept(challenges());
        } catch (AgentException e) { // an answer that nobody asks for does no harm
          LOG.log(System.Logger.Level.WARNING, "cannot withdraw a challenge: " + e.getMessage());
        }
      }
    }
  }
}
