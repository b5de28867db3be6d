package dev.zlayer.testkit.registry;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.RegistryAuth;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.MadeImage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;

/**
 * Debian's {@code docker-registry} for the length of a test: on 127.0.0.1, plain HTTP unless TLS is
 * asked for, its own storage, removed by {@link #close}. The port is chosen by the kernel and read
 * from the registry's log, so parallel tests never collide.
 */
public final class LocalRegistry implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final Pattern LISTENING = Pattern.compile("listening on 127\\.0\\.0\\.1:(\\d+)");
  private static final Pattern ACCESS =
      Pattern.compile("\"([A-Z]+) (\\S+) HTTP/[0-9.]+\" (\\d{3}) (\\d+)");

  private final Path directory;
  private final Process process;
  private final int port;
  private final RegistryPush client;

  private LocalRegistry(Path directory, Process process, Options options) {
    this.directory = directory;
    this.process = process;
    this.port = awaitPort();
    this.client =
        new RegistryPush(
            host(), options.auth(), options.tlsName().map(_ -> SelfSigned.certificate(directory)));
    Awaitility.await("the registry answers").atMost(TIMEOUT).until(client::answers);
  }

  /** How it is set up. */
  public record Options(
      Optional<RegistryAuth.Basic> auth, boolean delete, Optional<String> tlsName) {
    public static final Options DEFAULT = new Options(Optional.empty(), false, Optional.empty());

    /** Every request needs these credentials. */
    public Options withLogin(String user, String password) {
      return new Options(Optional.of(new RegistryAuth.Basic(user, password)), delete, tlsName);
    }

    public Options withDelete() {
      return new Options(auth, true, tlsName);
    }

    /** HTTPS only, with a certificate of its own for that name and its address. */
    public Options withTls(String name) {
      return new Options(auth, delete, Optional.of(name));
    }
  }

  /** One answered request as the registry's access log tells it. */
  public record Request(String method, String path, int status, long bytes) {}

  public static LocalRegistry start() {
    return start(Options.DEFAULT);
  }

  public static LocalRegistry start(Options options) {
    try {
      Path directory = Files.createTempDirectory("zlayer-registry-");
      try {
        return start(directory, options);
      } catch (RuntimeException | IOException e) {
        deleteTree(directory);
        throw e;
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static LocalRegistry start(Path directory, Options options) throws IOException {
    Files.writeString(directory.resolve("config.yml"), config(directory, options));
    if (options.auth().isPresent()) {
      Files.writeString(directory.resolve("htpasswd"), htpasswd(options.auth().get()));
    }
    if (options.tlsName().isPresent()) {
      SelfSigned.make(directory, options.tlsName().get());
    }
    Process process =
        Processes.start(
            Command.of("docker-registry", "serve", directory.resolve("config.yml").toString()),
            directory.resolve("log").toFile());
    try {
      return new LocalRegistry(directory, process, options);
    } catch (RuntimeException e) {
      end(process);
      throw e;
    }
  }

  private static String config(Path directory, Options options) {
    String config =
        """
        version: 0.1
        log:
          level: info
        http:
          addr: 127.0.0.1:0
          secret: testkit%s
        storage:
          filesystem:
            rootdirectory: %s/storage
          delete:
            enabled: %s
        """
            .formatted(
                options.tlsName().isPresent() ? tls(directory) : "", directory, options.delete());
    String auth =
        """
        auth:
          htpasswd:
            realm: testkit
            path: %s/htpasswd
        """
            .formatted(directory);
    return options.auth().isPresent() ? config + auth : config;
  }

  private static String tls(Path directory) {
    return "\n  tls: {certificate: %s, key: %s}"
        .formatted(SelfSigned.certificate(directory), SelfSigned.key(directory));
  }

  /** What to trust, of one with TLS. */
  public Path certificate() {
    return SelfSigned.certificate(directory);
  }

  /** The registry takes bcrypt only; the JDK has none. */
  private static String htpasswd(RegistryAuth.Basic auth) {
    try {
      return Processes.check(
              Command.of("htpasswd", "-nbB", "-C", "4", auth.user(), auth.password()),
              Deadline.after(TIMEOUT))
          .stdout();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while writing htpasswd", e);
    }
  }

  /** {@code 127.0.0.1:port}, the host part of references to it. */
  public String host() {
    return "127.0.0.1:" + port;
  }

  /** The reference of {@code name:tag} at this registry. */
  public ImageRef ref(String nameAndTag) {
    return ImageRef.parse(host() + "/" + nameAndTag);
  }

  public ImageRef push(ImageMaker image, String nameAndTag) {
    return push(image.make(), nameAndTag);
  }

  /** Uploads all of it and makes the tag point to it; returns the reference to pull. */
  public ImageRef push(MadeImage image, String nameAndTag) {
    ImageRef ref = ref(nameAndTag);
    client.push(image, ref.path(), ref.selector());
    return ref;
  }

  /** Takes a manifest away; needs {@link Options#withDelete}. */
  public void delete(String name, Digest manifest) {
    client.delete(name, manifest);
  }

  /** All requests answered so far, pushes and the probe at the start included, in order. */
  public List<Request> requests() {
    return log().lines().map(ACCESS::matcher).filter(Matcher::find).map(this::request).toList();
  }

  /** Where it keeps its blobs, for tests that damage one. */
  public Path storage() {
    return directory.resolve("storage");
  }

  private Request request(Matcher line) {
    return new Request(
        line.group(1),
        line.group(2),
        Integer.parseInt(line.group(3)),
        Long.parseLong(line.group(4)));
  }

  private int awaitPort() {
    return Awaitility.await("the registry tells its port")
        .atMost(TIMEOUT)
        .pollInterval(Duration.ofMillis(20))
        .until(this::portFromLog, Optional::isPresent)
        .orElseThrow();
  }

  private Optional<Integer> portFromLog() {
    Matcher line = LISTENING.matcher(log());
    if (line.find()) {
      return Optional.of(Integer.valueOf(line.group(1)));
    }
    if (!process.isAlive()) {
      throw new IllegalStateException("docker-registry ended at once: " + log());
    }
    return Optional.empty();
  }

  private String log() {
    try {
      return Files.readString(directory.resolve("log"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    client.close();
    end(process);
    deleteTree(directory);
  }

  private static void end(Process process) {
    process.destroy();
    try {
      if (!process.waitFor(5, TimeUnit.SECONDS)) {
        process.destroyForcibly().waitFor(); // it would write while its files are removed
      }
    } catch (InterruptedException _) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }

  private static void deleteTree(Path directory) {
    try (var paths = Files.walk(directory)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
