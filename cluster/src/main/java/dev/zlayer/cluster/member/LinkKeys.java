package dev.zlayer.cluster.member;

import dev.zlayer.cluster.certificate.Authority;
import dev.zlayer.cluster.certificate.Pem;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPairGenerator;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.X509Certificate;
import java.security.interfaces.XECPrivateKey;
import java.security.spec.NamedParameterSpec;
import java.security.spec.XECPrivateKeySpec;
import java.security.spec.XECPublicKeySpec;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import javax.crypto.KeyAgreement;

/**
 * Keys with which nodes encrypt packets between their containers. A node makes its own, another one
 * with each certificate, and publishes the public part with a signature of that certificate's key:
 * whoever can write into the store can therefore not take the place of another node.
 *
 * <p>Used by one thread at a time.
 */
public final class LinkKeys {
  private static final String CURVE = "X25519";
  private static final String SIGNATURE = "SHA256withECDSA";
  private static final int BYTES = 32;
  private static final BigInteger BASE = BigInteger.valueOf(9);

  /**
   * What a node publishes.
   *
   * @param key its public key, as WireGuard writes it
   * @param certificate of the node, as PEM
   */
  record Published(String key, String certificate, String signature) {}

  /** The key that belongs to a certificate. */
  private record Own(String serial, Path file, String publicKey, String published) {}

  /** What was found of a node, so that signatures are checked once. */
  private record Checked(String text, X509Certificate certificate, Optional<String> key) {}

  private final NodeIdentity identity;
  private final ClusterFiles files;
  private final Predicate<X509Certificate> revoked;
  private final Map<String, Checked> checked = new HashMap<>();
  private Optional<Own> own = Optional.empty();

  LinkKeys(NodeIdentity identity, ClusterFiles files, Predicate<X509Certificate> revoked) {
    this.identity = identity;
    this.files = files;
    this.revoked = revoked;
  }

  /** Whether this cluster encrypts; that was decided when it began. */
  public boolean encrypted() {
    return files.settings().encrypt();
  }

  /** The private key, for programs. */
  public Path file() {
    return own().file();
  }

  public String publicKey() {
    return own().publicKey();
  }

  /** What this node publishes. */
  public String published() {
    return own().published();
  }

  private Own own() {
    X509Certificate certificate = files.ownCertificate();
    String serial = certificate.getSerialNumber().toString(16);
    if (own.filter(known -> known.serial().equals(serial)).isPresent()) {
      return own.get();
    }
    String secret = files.linkKey(serial, LinkKeys::create);
    String publicKey = publicKey(secret);
    try {
      var signer = Signature.getInstance(SIGNATURE);
      signer.initSign(files.ownKey());
      signer.update(statement(identity.id(), publicKey));
      var published =
          new Published(
              publicKey, Pem.of(certificate), Base64.getEncoder().encodeToString(signer.sign()));
      var made =
          new Own(
              serial,
              files.linkKeyFile(serial),
              publicKey,
              JsonText.print(RecordJson.write(published)));
      own = Optional.of(made);
      return made;
    } catch (GeneralSecurityException e) {
      throw new AgentException.Internal("cannot sign a key", e);
    }
  }

  /** The public key of another node; empty when it is not its own. */
  public Optional<String> verified(String node, String text) {
    Checked known = checked.get(node);
    if (known == null || !known.text().equals(text)) {
      try {
        known = check(node, text);
      } catch (AgentException | GeneralSecurityException | IllegalArgumentException _) {
        checked.remove(node);
        return Optional.empty();
      }
      checked.put(node, known);
    }
    return revoked.test(known.certificate()) ? Optional.empty() : known.key();
  }

  private Checked check(String node, String text) throws GeneralSecurityException {
    Published published = RecordJson.read(JsonText.parse(text), Published.class);
    X509Certificate certificate = Pem.certificate(published.certificate());
    certificate.verify(files.authorityCertificate().getPublicKey());
    boolean owner =
        NodeIdentity.id(Authority.names(certificate).toList()).equals(Optional.of(node));
    var verifier = Signature.getInstance(SIGNATURE);
    verifier.initVerify(certificate.getPublicKey());
    verifier.update(statement(node, published.key()));
    boolean signed = verifier.verify(Base64.getDecoder().decode(published.signature()));
    boolean key = Base64.getDecoder().decode(published.key()).length == BYTES;
    return new Checked(
        text,
        certificate,
        owner && signed && key ? Optional.of(published.key()) : Optional.empty());
  }

  private byte[] statement(String node, String key) {
    return String.join("\n", List.of("zlayer link key", identity.cluster(), node, key))
        .getBytes(StandardCharsets.UTF_8);
  }

  private static String create() {
    try {
      var made = (XECPrivateKey) KeyPairGenerator.getInstance(CURVE).generateKeyPair().getPrivate();
      return Base64.getEncoder().encodeToString(made.getScalar().orElseThrow());
    } catch (GeneralSecurityException e) {
      throw new AgentException.Internal("cannot make keys", e);
    }
  }

  /** It follows from the private one: that times the base point (RFC 7748, 6.1). */
  static String publicKey(String secret) {
    try {
      var factory = KeyFactory.getInstance(CURVE);
      var agreement = KeyAgreement.getInstance(CURVE);
      agreement.init(
          factory.generatePrivate(
              new XECPrivateKeySpec(
                  NamedParameterSpec.X25519, Base64.getDecoder().decode(secret.strip()))));
      PublicKey base =
          factory.generatePublic(new XECPublicKeySpec(NamedParameterSpec.X25519, BASE));
      var _ = agreement.doPhase(base, true);
      return Base64.getEncoder().encodeToString(agreement.generateSecret());
    } catch (GeneralSecurityException e) {
      throw new AgentException.Configuration("not a key of WireGuard: " + e.getMessage(), e);
    }
  }
}
