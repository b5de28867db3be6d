package dev.zlayer.cli.doctor;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.TlsFiles;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.host.linux.PortOwner;
import dev.zlayer.json.Json;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.security.GeneralSecurityException;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** What the configuration names: directories, ports, certificates, and files of secrets. */
final class SetupChecks {
  private static final long LITTLE_SPACE = 512L << 20;
  private static final Duration SOON = Duration.ofDays(14);
  private static final Set<PosixFilePermission> OF_OTHERS =
      Set.of(
          PosixFilePermission.GROUP_READ,
          PosixFilePermission.GROUP_WRITE,
          PosixFilePermission.OTHERS_READ,
          PosixFilePermission.OTHERS_WRITE);

  private final Json config;
  private final boolean running;
  private final Instant now;

  /**
   * For one configuration.
   *
   * @param config every key with its value, as the daemon shows it
   * @param running whether a daemon uses it now
   */
  SetupChecks(Json config, boolean running, Instant now) {
    this.config = config;
    this.running = running;
    this.now = now;
  }

  List<Finding> run() {
    var findings = new ArrayList<Finding>();
    Path data = Path.of(value("data_dir").orElse("/var/lib/zlayer"));
    findings.add(directory(data));
    findings.add(disk(data));
    findings.add(clock(data));
    findings.add(port());
    findings.add(certificates());
    value("token_file").ifPresent(file -> findings.add(secret("token-file", Path.of(file))));
    return findings;
  }

  private Optional<String> value(String key) {
    return config.at(key).at("value").string().filter(text -> !text.isEmpty());
  }

  private Finding directory(Path data) {
    Path nearest = nearest(data);
    if (running && !Files.isWritable(nearest)) {
      return Finding.skipped(
          "data-directory", data + " is the daemon's own", "run as root to check it");
    }
    if (Files.exists(data) && !Files.isDirectory(data)) {
      return Finding.failed(
          "data-directory", data + " is no directory", "move it away, or set data_dir");
    }
    try {
      Path probe = Files.createTempFile(nearest, ".zlayer-doctor", "");
      Files.delete(probe);
      return Finding.ok(
          "data-directory", data + (nearest.equals(data) ? " is writable" : " can be made"));
    } catch (IOException e) {
      return Finding.failed(
          "data-directory",
          "%s cannot be written (%s)".formatted(nearest, e.getClass().getSimpleName()),
          Machine.root()
              ? "mount it writable, or set data_dir to another directory"
              : "run as root, or set ZLAYER_DATA_DIR to a directory of your own");
    }
  }

  private Finding disk(Path data) {
    try {
      FileStore store = Files.getFileStore(nearest(data));
      long free = store.getUsableSpace();
      long percent = 100 - free * 100 / Math.max(1, store.getTotalSpace());
      String detail = "%d MiB are free for %s (%d%% used)".formatted(free >> 20, data, percent);
      long high = value("image_gc_high").map(Long::parseLong).orElse(0L);
      if (free < LITTLE_SPACE) {
        return Finding.failed(
            "disk", detail, "run 'zlayer system prune', or give the file system more space");
      }
      return high > 0 && percent > high
          ? Finding.warning(
              "disk",
              detail + ", more than image_gc_high",
              "unused images are removed at once; run 'zlayer system df' to see what takes space")
          : Finding.ok("disk", detail);
    } catch (IOException e) {
      return Finding.failed(
          "disk", "the file system of %s cannot be read: %s".formatted(data, e.getMessage()), "");
    }
  }

  private Finding clock(Path data) {
    try {
      Path state = data.resolve("state.db");
      if (Files.exists(state)
          && Files.getLastModifiedTime(state)
              .toInstant()
              .isAfter(now.plus(Duration.ofMinutes(2)))) {
        return Finding.failed(
            "clock",
            "the clock says %s, but the state was written later".formatted(now),
            "set the clock; schedules do not run until it has caught up");
      }
    } catch (IOException _) {
      // another user's; what else tells about the clock follows
    }
    Path sync = Path.of("/run/systemd/timesync");
    if (Files.isDirectory(sync) && !Files.exists(sync.resolve("synchronized"))) {
      return Finding.warning(
          "clock",
          "%s, not synchronized".formatted(now),
          "see 'timedatectl timesync-status': schedules and certificates depend on the clock");
    }
    return Finding.ok("clock", now.toString());
  }

  private Finding port() {
    Optional<String> listen = value("listen");
    if (listen.isEmpty()) {
      return Finding.ok("port", "the daemon listens on its socket only");
    }
    if (running) {
      return Finding.ok("port", "the daemon listens on " + listen.get());
    }
    int colon = listen.get().lastIndexOf(':');
    int port = Integer.parseInt(listen.get().substring(colon + 1));
    String host = listen.get().substring(0, colon).replaceAll("[\\[\\]]", "");
    try (var socket = new ServerSocket()) {
      socket.setReuseAddress(true);
      socket.bind(new InetSocketAddress(host, port));
      return Finding.ok("port", listen.get() + " is free");
    } catch (IOException e) {
      String owner = PortOwner.find("tcp", port).map(process -> " by " + process).orElse("");
      String reason = owner.isEmpty() ? ": " + e.getMessage() : " (in use" + owner + ")";
      return Finding.failed(
          "port",
          "the daemon cannot listen on " + listen.get() + reason,
          "stop what uses it, or set listen to another address");
    }
  }

  private Finding certificates() {
    Optional<Path> certificate = value("tls_certificate").map(Path::of);
    Optional<Path> key = value("tls_key").map(Path::of);
    Optional<Path> trusted = value("tls_client_ca").map(Path::of);
    if (certificate.isEmpty() && trusted.isEmpty()) {
      return Finding.ok("certificates", "none are configured");
    }
    String remedy = "put a valid PEM file there; tls_certificate, tls_key and tls_client_ca";
    try {
      if (certificate.isPresent() && key.isPresent()) {
        new TlsFiles(trusted, Optional.of(new TlsFiles.Own(certificate.get(), key.get())))
            .context();
      }
      Instant end = Instant.MAX;
      for (Path file : List.copyOf(certificate.stream().toList())) {
        end = earliest(end, expiry(file));
      }
      for (Path file : trusted.stream().toList()) {
        end = earliest(end, expiry(file));
      }
      if (end.isBefore(now)) {
        return Finding.failed("certificates", "expired at " + end, "renew them, then restart");
      }
      return end.isBefore(now.plus(SOON))
          ? Finding.warning("certificates", "expire at " + end, "renew them, then restart")
          : Finding.ok("certificates", "valid until " + end);
    } catch (AgentException | IOException | GeneralSecurityException e) {
      return Finding.failed("certificates", String.valueOf(e.getMessage()), remedy);
    }
  }

  private static Instant earliest(Instant one, Instant other) {
    return one.isBefore(other) ? one : other;
  }

  private static Instant expiry(Path file) throws IOException, GeneralSecurityException {
    Instant end = Instant.MAX;
    try (InputStream in = Files.newInputStream(file)) {
      for (Certificate one : CertificateFactory.getInstance("X.509").generateCertificates(in)) {
        end = earliest(end, ((X509Certificate) one).getNotAfter().toInstant());
      }
    }
    return end;
  }

  private static Finding secret(String check, Path file) {
    try {
      if (!Files.exists(file)) {
        return Finding.failed(check, file + " does not exist", "write the token there");
      }
      return Files.getPosixFilePermissions(file).stream().anyMatch(OF_OTHERS::contains)
          ? Finding.failed(check, file + " is open to others", "chmod 600 " + file)
          : Finding.ok(check, file.toString());
    } catch (IOException e) {
      return Finding.failed(check, "cannot be read: " + e.getMessage(), "chmod 600 " + file);
    }
  }

  /** The directory itself, or the one in which it would be made. */
  private static Path nearest(Path path) {
    Path nearest = path.toAbsolutePath();
    while (nearest.getParent() != null && !Files.exists(nearest)) {
      nearest = nearest.getParent();
    }
    return nearest;
  }
}
