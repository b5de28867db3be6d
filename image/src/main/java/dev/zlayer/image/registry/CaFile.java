package dev.zlayer.image.registry;

import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.Collection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import org.jspecify.annotations.Nullable;

/** Trust in the certificates of a PEM file, besides those the system trusts. */
final class CaFile {
  private CaFile() {}

  static SSLContext context(Path file) {
    try (InputStream in = Files.newInputStream(file)) {
      Collection<? extends Certificate> certificates =
          CertificateFactory.getInstance("X.509").generateCertificates(in);
      if (certificates.isEmpty()) {
        throw new AgentException.Configuration("CA file " + file + " has no certificates");
      }
      KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
      store.load(null, null);
      int number = 0;
      for (Certificate certificate : certificates) {
        store.setCertificateEntry("ca-" + number++, certificate);
      }
      for (X509Certificate system : manager(null).getAcceptedIssuers()) {
        store.setCertificateEntry("system-" + number++, system);
      }
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, new TrustManager[] {manager(store)}, null);
      return context;
    } catch (IOException | GeneralSecurityException e) {
      throw new AgentException.Configuration(
          "CA file %s cannot be used: %s".formatted(file, e.getMessage()), e);
    }
  }

  private static X509TrustManager manager(@Nullable KeyStore store)
      throws GeneralSecurityException {
    TrustManagerFactory factory =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init(store);
    for (TrustManager manager : factory.getTrustManagers()) {
      if (manager instanceof X509TrustManager found) {
        return found;
      }
    }
    throw new GeneralSecurityException("the platform has no X.509 trust manager");
  }
}
