package dev.zlayer.proxy.tls;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The certificates of all hosts that endpoints serve. May be used from any thread. */
public interface Certificates {
  /**
   * Replaces the hosts that need a certificate. Returns once those that need no network are there;
   * the others follow. What was issued for a host that is not wanted any more is kept until it
   * expires, so that wanting it again asks nobody.
   */
  void want(Set<HostTls> hosts);

  /** The certificate to serve now: of that very name, else of the wildcard that covers it. */
  Optional<Pem> find(String host);

  /**
   * Calls {@code changed} after every change of certificates or {@link #challenges}. A challenge
   * has to be served when the call returns: the authority is asked to look right after it.
   */
  void listen(Runnable changed);

  /**
   * What has to be answered at {@code /.well-known/acme-challenge/TOKEN} on port 80, by token:
   * plain text, for every host.
   */
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
