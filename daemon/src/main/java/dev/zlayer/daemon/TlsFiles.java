package dev.zlayer.daemon;

import dev.zlayer.daemon.config.AgentConfig;
import dev.zlayer.error.AgentException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** PEM files to a TLS context. */
final class TlsFiles {
  private static final char[] NO_PASSWORD = {};

  private TlsFiles() {}

  static SSLContext context(String certificate, AgentConfig config) {
    String key =
        config
            .tlsKey()
            .orElseThrow(
                () -> new AgentException.Configuration("tls_certificate needs tls_key beside it"));
    TcpSettings.requirePrivate(Path.of(key));
    try {
      KeyStore own = KeyStore.getInstance("PKCS12");
      own.load(null, NO_PASSWORD);
      own.setKeyEntry(
          "agent", key(key), NO_PASSWORD, certificates(certificate).toArray(Certificate[]::new));
      var keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      keys.init(own, NO_PASSWORD);
      KeyStore trusted = KeyStore.getInstance("PKCS12");
      trusted.load(null, NO_PASSWORD);
      for (Certificate authority :
          config.tlsClientCa().map(TlsFiles::certificates).orElse(List.of())) {
        trusted.setCertificateEntry("ca" + trusted.size(), authority);
      }
      var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(trusted);
      var context = SSLContext.getInstance("TLS");
      context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
      return context;
    } catch (GeneralSecurityException e) {
      throw new AgentException.Configuration(
          "the certificate %s and the key %s do not work together: %s"
              .formatted(certificate, key, e.getMessage()),
          e);
    } catch (IOException e) {
      throw TcpSettings.unreadable(certificate, e);
    }
  }

  private static List<Certificate> certificates(String file) {
    try {
      return List.copyOf(
          CertificateFactory.getInstance("X.509")
              .generateCertificates(new ByteArrayInputStream(Files.readAllBytes(Path.of(file)))));
    } catch (GeneralSecurityException e) {
      throw new AgentException.Configuration(
          "%s has no certificates as PEM: %s".formatted(file, e.getMessage()), e);
    } catch (IOException e) {
      throw TcpSettings.unreadable(file, e);
    }
  }

  private static PrivateKey key(String file) throws IOException, GeneralSecurityException {
    String pem = Files.readString(Path.of(file), StandardCharsets.US_ASCII);
    String begin = "-----BEGIN PRIVATE KEY-----";
    int start = pem.indexOf(begin);
    int end = pem.indexOf("-----END PRIVATE KEY-----");
    if (start < 0 || end < start) {
      throw new AgentException.Configuration(
          "%s is not a PKCS 8 key: make one with 'openssl pkcs8 -topk8 -nocrypt'".formatted(file));
    }
    byte[] der = Base64.getMimeDecoder().decode(pem.substring(start + begin.length(), end));
    var spec = new PKCS8EncodedKeySpec(der);
    for (String algorithm : List.of("EC", "RSA", "Ed25519")) {
      try {
        return KeyFactory.getInstance(algorithm).generatePrivate(spec);
      } catch (InvalidKeySpecException _) {
        // a key of another kind
      }
    }
    throw new AgentException.Configuration(file + " has a key that is neither EC, RSA nor Ed25519");
  }
}
