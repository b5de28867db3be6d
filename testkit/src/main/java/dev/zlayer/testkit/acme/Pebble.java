package dev.zlayer.testkit.acme;

import dev.zlayer.host.http.TlsFiles;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.FreePorts;
import dev.zlayer.testkit.registry.SelfSigned;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Debian's {@code pebble}, the ACME server that is made for tests, with a name server that answers
 * 127.0.0.1 for every host. On loopback, with ports and files of its own; both end with {@link
 * #close}.
 */
public final class Pebble implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(20);
  private static final int ATTEMPTS = 5;

  private final Path directory;
  private final Options options;
  private final int port;
  private final int management;
  private final int names;
  private final int nameManagement;
  private final HttpClient client;
  private Optional<Process> server = Optional.empty();
  private Optional<Process> nameServer = Optional.empty();

  /**
   * How it is set up.
   *
   * @param httpPort where it looks for answers to HTTP-01
   * @param validity of certificates, in seconds
   * @param bindings keys by id; an account needs one of them unless there are none
   * @param blocked hosts that it refuses
   */
  public record Options(
      int httpPort, long validity, Map<String, String> bindings, List<String> blocked) {
    public static Options of(int httpPort) {
      return new Options(httpPort, 7_776_000, Map.of(), List.of());
    }

    public Options withValidity(long seconds) {
      return new Options(httpPort, seconds, bindings, blocked);
    }

    public Options withBinding(String keyId, String key) {
      return new Options(httpPort, validity, Map.of(keyId, key), blocked);
    }

    public Options withBlocked(String host) {
      return new Options(httpPort, validity, bindings, List.of(host));
    }
  }

  private Pebble(Path directory, Options options) throws IOException {
    this.directory = directory;
    this.options = options;
    this.port = FreePorts.take();
    this.management = FreePorts.take();
    this.names = FreePorts.take();
    this.nameManagement = FreePorts.take();
    SelfSigned.make(directory, "localhost");
    this.client =
        HttpClient.newBuilder()
            .sslContext(new TlsFiles(Optional.of(bundle()), Optional.empty()).context())
            .build();
  }

  /** Another program may take a port between choice and use; then others are chosen. */
  public static Pebble start(Path directory, Options options) {
    for (int attempt = 1; ; attempt++) {
      try {
        var made = new Pebble(Files.createDirectories(directory), options);
        try {
          made.startNames();
          made.up();
          return made;
        } catch (IllegalStateException e) {
          made.close();
          if (attempt == ATTEMPTS) {
            throw e;
          }
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** The address that clients are given. */
  public String directory() {
    return "https://localhost:%d/dir".formatted(port);
  }

  /** What clients trust it by. */
  public Path bundle() {
    return SelfSigned.certificate(directory);
  }

  /** The authority that signs, as PEM. */
  public String root() {
    return get("https://localhost:%d/roots/0".formatted(management)).body();
  }

  /** Whether it says that the certificate with that serial number, in hexadecimal, is revoked. */
  public boolean revoked(String serial) {
    return get("https://localhost:%d/cert-status-by-serial/%s".formatted(management, serial))
        .body()
        .contains("Revoked");
  }

  /** A shell command that writes a TXT record for {@code $NAME} and {@code $VALUE}. */
  public String setTxt() {
    return """
    printf '{"host":"%%s.","value":"%%s"}' "$NAME" "$VALUE" >%1$s/txt &&
    busybox wget -q -O /dev/null --post-file=%1$s/txt http://127.0.0.1:%2$d/set-txt
    """
        .formatted(directory, nameManagement);
  }

  /** The address of a host from now on. */
  public void address(String host, String address) {
    Json body = Json.object().put("host", host).put("addresses", List.of(address)).build();
    send(
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:%d/add-a".formatted(nameManagement)))
            .POST(HttpRequest.BodyPublishers.ofByteArray(JsonText.bytes(body))));
  }

  /** Ends the server; accounts and orders are lost, as it keeps nothing. */
  public void down() {
    server.ifPresent(Pebble::end);
    server = Optional.empty();
  }

  /** Starts it, with other keys than before. */
  public void up() {
    try {
      Files.writeString(directory.resolve("pebble.json"), JsonText.pretty(config()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Process process =
        Processes.start(
            Command.of(
                    "pebble",
                    "-strict",
                    "-config",
                    directory.resolve("pebble.json").toString(),
                    "-dnsserver",
                    "127.0.0.1:" + names)
                .withEnv(Map.of("PEBBLE_VA_NOSLEEP", "1", "PEBBLE_AUTHZREUSE", "0")),
            directory.resolve("pebble.log").toFile());
    server = Optional.of(process);
    awaitAnswer(process, directory());
  }

  private Json config() {
    return Json.object()
        .put(
            "pebble",
            Json.object()
                .put("listenAddress", "127.0.0.1:" + port)
                .put("managementListenAddress", "127.0.0.1:" + management)
                .put("certificate", SelfSigned.certificate(directory).toString())
                .put("privateKey", SelfSigned.key(directory).toString())
                .put("httpPort", options.httpPort())
                .put("tlsPort", 5001)
                .put("ocspResponderURL", "")
                .put("externalAccountBindingRequired", !options.bindings().isEmpty())
                .put("externalAccountMACKeys", options.bindings())
                .put("domainBlocklist", options.blocked())
                .put("certificateValidityPeriod", options.validity())
                .build())
        .build();
  }

  private void startNames() {
    Process process =
        Processes.start(
            Command.of(
                "pebble-challtestsrv",
                "-http01",
                "",
                "-https01",
                "",
                "-tlsalpn01",
                "",
                "-dns01",
                "127.0.0.1:" + names,
                "-management",
                "127.0.0.1:" + nameManagement,
                "-defaultIPv6",
                ""),
            directory.resolve("names.log").toFile());
    nameServer = Optional.of(process);
    awaitAnswer(process, "http://127.0.0.1:%d/".formatted(nameManagement));
  }

  private void awaitAnswer(Process process, String address) {
    long end = System.nanoTime() + TIMEOUT.toNanos();
    while (System.nanoTime() < end && process.isAlive()) {
      try {
        var _ =
            client.send(
                HttpRequest.newBuilder(URI.create(address)).timeout(TIMEOUT).build(),
                BodyHandlers.discarding());
        return;
      } catch (IOException _) {
        pause(process);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("interrupted", e);
      }
    }
    throw new IllegalStateException("nothing answers at " + address);
  }

  private static void pause(Process process) {
    try {
      var _ = process.waitFor(50, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }

  private java.net.http.HttpResponse<String> get(String address) {
    return send(HttpRequest.newBuilder(URI.create(address)));
  }

  private java.net.http.HttpResponse<String> send(HttpRequest.Builder request) {
    try {
      return client.send(request.timeout(TIMEOUT).build(), BodyHandlers.ofString());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }

  private static void end(Process process) {
    process.destroyForcibly();
    try {
      var _ = process.waitFor(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    down();
    nameServer.ifPresent(Pebble::end);
    client.close();
  }
}
