package dev.zlayer.proxy.tls;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/** The certificates of all hosts that endpoints serve. May be used from any thread. */
public interface Certificates {
  /**
   * Replaces the hosts that need a certificate. Returns once those that need no network are there;
   * the others follow. What was issued for a host that is not wanted any more is kept until it
   * expires, so that wanting it again asks nobody.
   */
  void want(Set<HostTls> hosts);

  /** The certificate to serve now: of that very name, else of the wildcard that covers it. */
  Optional<PemPair> find(String host);

  /** Calls {@code changed}, which returns at once, after every change of certificates. */
  void listen(Runnable changed);

  /**
   * Who answers {@code /.well-known/acme-challenge/TOKEN} on port 80 with the text of the token,
   * for every host. Called with all answers, by token, whenever they change; they are served when
   * the call returns. What it throws is the reason why a certificate cannot be had.
   */
  void answerBy(Consumer<Map<String, String>> server);

  /** The answers of this moment. */
  Map<String, String> challenges();

  /** All hosts that are wanted, by name. */
  List<CertificateStatus> status();

  /** Reads secrets anew; for those who changed one. */
  void refresh();

  /** The certificate of the local authority as PEM; made by the first use. */
  String localAuthority();

  /**
   * Has the authority revoke the certificate of a host and asks for another one.
   *
   * @throws dev.zlayer.error.AgentException.NotFound none was obtained by ACME for this host
   * @throws dev.zlayer.error.AgentException.Network the authority did not do it
   */
  void revoke(String host) throws InterruptedException;
}
