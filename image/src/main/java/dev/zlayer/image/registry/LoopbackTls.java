package dev.zlayer.image.registry;

import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.cert.X509Certificate;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Registries of this machine that speak TLS although nothing is set for them. Plain HTTP is what is
 * tried first there; since that is allowed, a certificate proves nothing more and is not checked.
 */
final class LoopbackTls {
  private final RegistriesConfig config;
  private final RegistryTransport transport;
  private final Set<String> secure = ConcurrentHashMap.newKeySet();

  LoopbackTls(RegistriesConfig config, RegistryTransport transport) {
    this.config = config;
    this.transport = transport;
  }

  /** Asks at an endpoint, and again with TLS if that is what a registry of this machine speaks. */
  <T> T ask(RegistryEndpoint endpoint, Fallback.Question<T> question)
      throws IOException, InterruptedException {
    boolean guessed =
        !endpoint.mirror() && endpoint.plain() && config.of(endpoint.host()).uncertain();
    if (!guessed) {
      return question.ask(endpoint);
    }
    if (secure.contains(endpoint.host())) {
      try {
        return question.ask(endpoint.secured());
      } catch (RegistryException e) {
        if (e.problem() != RegistryException.Problem.TLS) {
          throw e;
        }
        secure.remove(endpoint.host()); // another registry is there now
      }
    }
    try {
      return question.ask(endpoint);
    } catch (RegistryException e) {
      if (e.problem() != RegistryException.Problem.UNSOUND || !speaksTls(endpoint)) {
        throw e;
      }
      secure.add(endpoint.host());
      return question.ask(endpoint.secured());
    }
  }

  private boolean speaksTls(RegistryEndpoint endpoint) throws InterruptedException {
    var ask = RegistryTransport.Ask.of("GET", endpoint.secured().base(), Map.of());
    try (RegistryResponse _ = transport.send(ask, endpoint.host())) {
      return true;
    } catch (RegistryException _) {
      return false;
    }
  }

  /** Accepts any certificate. */
  static SSLContext unchecked() {
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, new TrustManager[] {new Anything()}, null);
      return context;
    } catch (GeneralSecurityException e) {
      throw new AgentException.Internal("no TLS: " + e.getMessage(), e);
    }
  }

  /** Of the extended kind: names are not checked then either. */
  private static final class Anything extends X509ExtendedTrustManager {
    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return new X509Certificate[0];
    }
  }
}
