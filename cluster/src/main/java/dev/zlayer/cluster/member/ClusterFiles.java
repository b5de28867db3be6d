package dev.zlayer.cluster.member;

import dev.zlayer.cluster.certificate.Authority;
import dev.zlayer.cluster.certificate.Pem;
import dev.zlayer.cluster.etcd.EtcdConfig;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.host.file.PrivateDirectory;
import dev.zlayer.host.http.TlsFiles;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;

/** A node's part of the cluster on disk. The record is written last: with it the node belongs. */
public final class ClusterFiles {
  private static final String RECORD = "node.json";

  private final Path directory;

  public ClusterFiles(Path directory) {
    this.directory = directory;
  }

  /** Asked by every agent at its start, so it loads nothing else. */
  public static boolean present(Path directory) {
    return Files.exists(directory.resolve(RECORD));
  }

  Path etcd() {
    return directory.resolve("etcd");
  }

  /** The certificate of this node with its key, in one file: they are replaced together. */
  private Path own() {
    return directory.resolve("node.pem");
  }

  /** Leads to the file of both, for programs that want two. */
  Path certificate() {
    return directory.resolve("node.crt");
  }

  /** Likewise. */
  Path key() {
    return directory.resolve("node.key");
  }

  Path authority() {
    return directory.resolve("ca.crt");
  }

  /** Certificates that etcd refuses; it has to be there when etcd starts. */
  Path revoked() {
    return directory.resolve("revoked.crl");
  }

  /** What etcd needs beside what is written when the node joins. */
  void prepare(Authority authority, Instant now) {
    if (!Files.exists(revoked())) {
      writeRevoked(authority.revoked(List.of(), now));
    }
  }

  void writeRevoked(byte[] list) {
    write(revoked(), list);
  }

  private Path known() {
    return directory.resolve("known.json");
  }

  /** Those of the last list that was read. */
  KnownNodes readKnown() {
    return Files.exists(known())
        ? RecordJson.read(JsonText.parse(text(known())), KnownNodes.class)
        : KnownNodes.NONE;
  }

  void write(KnownNodes nodes) {
    write(known(), JsonText.pretty(RecordJson.write(nodes)));
  }

  private Path settingsFile() {
    return directory.resolve("settings.json");
  }

  void write(ClusterSettings settings) {
    write(settingsFile(), settings.text());
  }

  /** As of the time when this node joined: nobody can change them later. */
  ClusterSettings settings() {
    return Files.exists(settingsFile())
        ? ClusterSettings.parse(text(settingsFile()))
        : new ClusterSettings("", false); // of an agent that knew none
  }

  /** With which this node logs in to etcd, where it has users. */
  public Optional<EtcdConfig.Login> login() {
    return login(read());
  }

  /** The same before its record is read. */
  Optional<EtcdConfig.Login> login(NodeIdentity identity) {
    if (!settings().hasUsers()) {
      return Optional.empty();
    }
    if (identity.server()) {
      return signing().map(authority -> NodeUsers.root(identity.cluster(), authority.key()));
    }
    // without a password it is refused, and asks for it
    String user = NodeRights.user(identity.id(), NodeIdentity.serial(ownCertificate()));
    return Optional.of(new EtcdConfig.Login(user, readPassword().orElse("")));
  }

  /** The password for etcd that belongs to a certificate. */
  private Path passwordFile(X509Certificate certificate) {
    return directory.resolve("etcd-%s.password".formatted(NodeIdentity.serial(certificate)));
  }

  /** Written before the certificate, so that there never is one without it. */
  void writePassword(X509Certificate certificate, String password) {
    write(passwordFile(certificate), password + "\n");
  }

  /** That of the certificate in use; absent where a restored node lacks it. */
  Optional<String> readPassword() {
    Path file = passwordFile(ownCertificate());
    return Files.exists(file) ? Optional.of(text(file).strip()) : Optional.empty();
  }

  /** Those of certificates that were replaced. */
  void removeOldPasswords() {
    removeOthers("etcd-*.password", passwordFile(ownCertificate()));
  }

  /** The private key for encrypted packets that belongs to a certificate. */
  Path linkKeyFile(String serial) {
    return directory.resolve("link-%s.key".formatted(serial));
  }

  /** Reads it, or makes it; those of certificates that were replaced are removed. */
  String linkKey(String serial, Supplier<String> create) {
    Path file = linkKeyFile(serial);
    if (!Files.exists(file)) {
      write(file, create.get() + "\n");
    }
    removeOthers("link-*.key", file);
    return text(file);
  }

  private void removeOthers(String pattern, Path kept) {
    try (var all = Files.newDirectoryStream(directory, pattern)) {
      for (Path other : all) {
        if (!other.equals(kept)) {
          Files.deleteIfExists(other);
        }
      }
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot remove an old key in %s: %s".formatted(directory, e.getMessage()), e);
    }
  }

  private Path external() {
    return directory.resolve("external-etcd.json");
  }

  private Path externalAuthority() {
    return directory.resolve("external-etcd-ca.crt");
  }

  private Path externalOwn() {
    return directory.resolve("external-etcd.pem");
  }

  /** Keeps how an etcd that others run is reached. */
  void write(ExternalEtcd etcd) {
    etcd.authority().ifPresent(text -> write(externalAuthority(), text));
    etcd.certificate()
        .ifPresent(text -> write(externalOwn(), text + "\n" + etcd.key().orElse("") + "\n"));
    write(external(), JsonText.pretty(RecordJson.write(etcd)));
  }

  /** How an etcd that others run is reached, where they do. */
  Optional<ExternalEtcd> readExternal() {
    return Files.exists(external())
        ? Optional.of(RecordJson.read(JsonText.parse(text(external())), ExternalEtcd.class))
        : Optional.empty();
  }

  /** For connections to it. */
  SSLContext externalTls(ExternalEtcd etcd) {
    return new TlsFiles(
            etcd.authority().map(_ -> externalAuthority()),
            etcd.certificate().map(_ -> new TlsFiles.Own(externalOwn(), externalOwn())))
        .context();
  }

  private Path authorityKey() {
    return directory.resolve("ca.key");
  }

  NodeIdentity read() {
    try {
      NodeIdentity read =
          RecordJson.read(
              JsonText.parse(Files.readAllBytes(directory.resolve(RECORD))), NodeIdentity.class);
      if (read.version() != NodeIdentity.VERSION) {
        throw new AgentException.Configuration(
            "the cluster's record was written by another version of the agent (%d); use that one"
                .formatted(read.version()));
      }
      return read;
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot read the record of the cluster: " + e.getMessage(), e);
    }
  }

  void write(NodeIdentity identity) {
    write(directory.resolve(RECORD), JsonText.pretty(RecordJson.write(identity)));
  }

  /** What a node proves itself with, when it comes into a cluster. */
  void write(PrivateKey key, X509Certificate certificate, X509Certificate authority) {
    write(authority(), Pem.of(authority));
    replace(key, certificate);
    link();
  }

  /**
   * Uses another key and certificate from now on, both in one step. The certificate is sent with
   * that of its authority.
   */
  void replace(PrivateKey key, X509Certificate certificate) {
    write(own(), Pem.of(certificate) + Pem.of(authorityCertificate()) + Pem.of(key));
  }

  /**
   * Earlier agents had two files, which cannot be replaced in one step, and an etcd that one of
   * them started still reads those. Each step leaves a pair that fits, so that it can end anywhere.
   */
  void combine() {
    if (!Files.exists(own())) {
      write(own(), text(certificate()) + text(key()));
    }
    link();
  }

  private void link() {
    try {
      for (Path name : List.of(certificate(), key())) {
        if (!Files.isSymbolicLink(name)) {
          AtomicFile.link(name, own());
        }
      }
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot replace the certificate in %s: %s".formatted(directory, e.getMessage()), e);
    }
  }

  void write(PrivateKey authorityKey) {
    write(authorityKey(), Pem.of(authorityKey));
  }

  X509Certificate ownCertificate() {
    return Pem.certificate(text(own()));
  }

  PrivateKey ownKey() {
    return Pem.privateKey(text(own()));
  }

  X509Certificate authorityCertificate() {
    return Pem.certificate(text(authority()));
  }

  /** Nodes that store the state can sign. */
  public Optional<Authority> signing() {
    return Files.exists(authorityKey())
        ? Optional.of(new Authority(authorityCertificate(), Pem.privateKey(text(authorityKey()))))
        : Optional.empty();
  }

  SSLContext tls() {
    return new TlsFiles(Optional.of(authority()), Optional.of(new TlsFiles.Own(own(), own())))
        .context();
  }

  void remove() {
    try {
      Files.deleteIfExists(directory.resolve(RECORD));
      RootedDirectory.removeTree(directory);
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot remove %s: %s".formatted(directory, e.getMessage()), e);
    }
  }

  private static String text(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot read %s: %s".formatted(file, e.getMessage()), e);
    }
  }

  private void write(Path file, String text) {
    write(file, text.getBytes(StandardCharsets.UTF_8));
  }

  private void write(Path file, byte[] bytes) {
    try {
      PrivateDirectory.directory(directory);
      AtomicFile.write(file, bytes);
      PrivateDirectory.file(file);
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot write %s: %s".formatted(file, e.getMessage()), e);
    }
  }
}
