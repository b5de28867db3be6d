package dev.zlayer.cluster.member;

import dev.zlayer.cluster.certificate.Pem;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.GeneralSecurityException;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Asks a node of a cluster for a certificate: to be admitted, having nothing of it but the token,
 * or to go on with another one.
 */
final class JoinClient {
  /** Below the address of an agent. */
  static final String PATH = "/api/v1/cluster/members";

  private JoinClient() {}

  /** Where a node that belongs to the cluster gets its next certificate. */
  static final String CERTIFICATES = "/api/v1/cluster/certificates";

  /** Where it says that it uses it. */
  static final String CURRENT = CERTIFICATES + "/current";

  static JoinRequest.Answer ask(URI agent, JoinToken token, JoinRequest request, Deadline deadline)
      throws InterruptedException {
    return RecordJson.read(
        post(agent.resolve(PATH), context(token), RecordJson.write(request), deadline),
        JoinRequest.Answer.class);
  }

  static NodeCertificate.Signed sign(
      URI agent, SSLContext tls, NodeCertificate.SigningRequest request, Deadline deadline)
      throws InterruptedException {
    return RecordJson.read(
        post(agent.resolve(CERTIFICATES), tls, RecordJson.write(request), deadline),
        NodeCertificate.Signed.class);
  }

  static NodeCertificate.Settled settle(
      URI agent, SSLContext tls, NodeCertificate.Current request, Deadline deadline)
      throws InterruptedException {
    return RecordJson.read(
        post(agent.resolve(CURRENT), tls, RecordJson.write(request), deadline),
        NodeCertificate.Settled.class);
  }

  /** Has another node remove this one. */
  static void leave(URI agent, SSLContext tls, String node, Deadline deadline)
      throws InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(agent.resolve("/api/v1/nodes/%s?force=true".formatted(node)));
    Json _ = send(request.DELETE(), tls, deadline);
  }

  private static Json post(URI target, SSLContext tls, Json body, Deadline deadline)
      throws InterruptedException {
    return send(
        HttpRequest.newBuilder(target)
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofByteArray(JsonText.bytes(body))),
        tls,
        deadline);
  }

  private static Json send(HttpRequest.Builder request, SSLContext tls, Deadline deadline)
      throws InterruptedException {
    deadline.check("asking another node"); // a client takes no time of zero
    Duration limit = deadline.left().plusMillis(1);
    HttpRequest made = request.timeout(limit).build();
    try (HttpClient http =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .proxy(HttpClient.Builder.NO_PROXY)
            .connectTimeout(limit)
            .sslContext(tls)
            .build()) {
      HttpResponse<byte[]> response = http.send(made, BodyHandlers.ofByteArray());
      Json answer =
          response.body().length == 0 ? Json.Null.INSTANCE : JsonText.parse(response.body());
      if (response.statusCode() / 100 != 2) {
        throw new AgentException.Conflict(
            "the cluster refused: "
                + answer.at("detail").string().orElse("status " + response.statusCode()));
      }
      return answer;
    } catch (IOException e) {
      throw new AgentException.Network(
          "cannot ask %s: %s"
              .formatted(
                  made.uri().resolve("/"),
                  e.getMessage() == null ? e.getClass().getName() : e.getMessage()),
          e);
    }
  }

  private static SSLContext context(JoinToken token) {
    try {
      var context = SSLContext.getInstance("TLS");
      context.init(null, new TrustManager[] {new Pinned(token.authority())}, null);
      return context;
    } catch (GeneralSecurityException e) {
      throw new AgentException.Internal("there is no TLS", e);
    }
  }

  /**
   * Trusts whoever shows a certificate of the authority that the token names, and is one of the
   * nodes that can admit others. The address does not matter, it may be a forwarded one.
   */
  private static final class Pinned extends X509ExtendedTrustManager {
    private final String authority;

    Pinned(String authority) {
      this.authority = authority;
    }

    private void check(X509Certificate[] chain) throws CertificateException {
      X509Certificate root = chain[chain.length - 1];
      if (chain.length != 2 || !JoinToken.equal(Pem.fingerprint(root), authority)) {
        throw new CertificateException(
            "it is not of the cluster that the token is for: check the address");
      }
      try {
        chain[0].checkValidity();
        chain[0].verify(root.getPublicKey());
      } catch (GeneralSecurityException e) {
        throw new CertificateException("its certificate cannot be trusted: " + e.getMessage(), e);
      }
      if (dev.zlayer.cluster.certificate.Authority.names(chain[0])
          .noneMatch(NodeIdentity.SERVERS::equals)) {
        throw new CertificateException(
            "this node cannot admit others: join through a server ('zlayer node ls' shows them)");
      }
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type)
        throws CertificateException {
      check(chain);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket)
        throws CertificateException {
      check(chain);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine)
        throws CertificateException {
      check(chain);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type)
        throws CertificateException {
      throw new CertificateException("this is no server");
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket)
        throws CertificateException {
      throw new CertificateException("this is no server");
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
        throws CertificateException {
      throw new CertificateException("this is no server");
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return new X509Certificate[0];
    }
  }
}
