package dev.zlayer.host.http;

import dev.zlayer.error.AgentException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * PEM files for TLS.
 *
 * @param trusted certificates to trust instead of the system's
 * @param own our certificate with its key, for servers that ask for one
 */
public record TlsFiles(Optional<Path> trusted, Optional<Own> own) {
  private static final Pattern PRIVATE_KEY =
      Pattern.compile("-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END PRIVATE KEY-----");
  private static final char[] NO_PASSWORD = new char[0];

  /** A certificate (chain) and its unencrypted key in PKCS #8; both may be the same file. */
  public record Own(Path certificate, Path key) {}

  public SSLContext context() {
    try {
      var context = SSLContext.getInstance("TLS");
      var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(trusted.isPresent() ? trustStore(trusted.get()) : null);
      var keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      keys.init(keyStore(), NO_PASSWORD);
      context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
      return context;
    } catch (GeneralSecurityException | IOException e) {
      throw new AgentException.Configuration("cannot use the files for tls: " + e.getMessage(), e);
    }
  }

  private static KeyStore trustStore(Path file) throws GeneralSecurityException, IOException {
    KeyStore store = empty();
    int count = 0;
    for (Certificate certificate : certificates(file)) {
      store.setCertificateEntry("trusted-" + count++, certificate);
    }
    if (count == 0) {
      throw new AgentException.Configuration(file + " has no certificate in it");
    }
    return store;
  }

  private KeyStore keyStore() throws GeneralSecurityException, IOException {
    KeyStore store = empty();
    if (own.isPresent()) {
      Certificate[] chain = certificates(own.get().certificate).toArray(new Certificate[0]);
      if (chain.length == 0) {
        throw new AgentException.Configuration(own.get().certificate + " has no certificate in it");
      }
      PrivateKey key = privateKey(own.get().key, chain[0].getPublicKey().getAlgorithm());
      store.setKeyEntry("own", key, NO_PASSWORD, chain);
    }
    return store;
  }

  private static KeyStore empty() throws GeneralSecurityException, IOException {
    var store = KeyStore.getInstance("PKCS12");
    store.load(null, NO_PASSWORD);
    return store;
  }

  private static Collection<? extends Certificate> certificates(Path file)
      throws GeneralSecurityException, IOException {
    // the factory takes a key beside them for one of them; other bytes stay as they are
    String text = Files.readString(file, StandardCharsets.ISO_8859_1);
    String without = PRIVATE_KEY.matcher(text).replaceAll("");
    try (InputStream in = new ByteArrayInputStream(without.getBytes(StandardCharsets.ISO_8859_1))) {
      return CertificateFactory.getInstance("X.509").generateCertificates(in);
    }
  }

  private static PrivateKey privateKey(Path file, String algorithm)
      throws GeneralSecurityException, IOException {
    Matcher pem = PRIVATE_KEY.matcher(Files.readString(file));
    if (!pem.find()) {
      throw new AgentException.Configuration(
          file
              + " has no unencrypted PKCS #8 key; convert it with 'openssl pkcs8 -topk8 -nocrypt'");
    }
    byte[] encoded = Base64.getMimeDecoder().decode(pem.group(1));
    return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(encoded));
  }
}
