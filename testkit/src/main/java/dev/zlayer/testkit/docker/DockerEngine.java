package dev.zlayer.testkit.docker;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.http.HttpClient;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.http.TlsFiles;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.FreePorts;
import dev.zlayer.testkit.registry.SelfSigned;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;

/**
 * Debian's {@code dockerd} on a socket and a data root of its own. It lives in its own network,
 * mount and process namespaces, so that the machine's firewall and bridges are not touched, and
 * everything it started is gone with it.
 */
public final class DockerEngine implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final String START =
      """
      ip link set lo up
      exec dockerd --data-root="$1/data" --exec-root="$1/exec" --pidfile="$1/pid" \
        --host="unix://$1/socket" --config-file="$1/daemon.json" --cgroup-parent="/$2" \
        --log-level=warn $3
      """;
  private static final String NO_TOUCHING = "--bridge=none --iptables=false --ip-forward=false";
  private static final String REMOVE =
      """
      for d in /sys/fs/cgroup/"$2" /sys/fs/cgroup/*/"$2"; do
        [ -d "$d" ] && find "$d" -depth -type d -exec rmdir {} ';' 2>/dev/null
      done
      rm -rf "$1"
      """;

  private final Path directory;
  private final Network network;
  private final int port;
  private Process process;

  /** Where an engine lives and listens. */
  private enum Network {
    OWN,
    HOST,
    HOST_WITH_TLS
  }

  private DockerEngine(Path directory, Network network, int port) {
    this.directory = directory;
    this.network = network;
    this.port = port;
    this.process = launch();
  }

  public static DockerEngine start() {
    return start(Network.OWN);
  }

  /** On the machine's network, so that it reaches registries here; it has no bridge then. */
  public static DockerEngine onHostNetwork() {
    return start(Network.HOST);
  }

  /** Also on TCP, with a certificate that it wants from its clients, too. */
  public static DockerEngine withTls() {
    return start(Network.HOST_WITH_TLS);
  }

  private static DockerEngine start(Network network) {
    try {
      Path directory = Files.createTempDirectory("zlayer-docker-");
      Files.writeString(directory.resolve("daemon.json"), "{}"); // not the machine's
      try {
        if (network == Network.HOST_WITH_TLS) {
          SelfSigned.make(directory, "localhost");
        }
        return new DockerEngine(directory, network, FreePorts.take());
      } catch (RuntimeException e) {
        remove(directory);
        throw e;
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public HttpAddress address() {
    return new HttpAddress.Unix(directory.resolve("socket"));
  }

  /** Of an engine {@link #withTls}. */
  public HttpAddress tlsAddress() {
    Path certificate = directory.resolve("cert.pem");
    var own = new TlsFiles.Own(certificate, directory.resolve("key.pem"));
    var files = new TlsFiles(Optional.of(certificate), Optional.of(own));
    return new HttpAddress.Tls("localhost", port, files.context());
  }

  private String flags() {
    return switch (network) {
      case OWN -> "";
      case HOST -> NO_TOUCHING;
      case HOST_WITH_TLS ->
          NO_TOUCHING
              + " --host=tcp://127.0.0.1:%d --tlsverify --tlscacert=%2$s --tlscert=%2$s --tlskey=%3$s"
                  .formatted(port, directory.resolve("cert.pem"), directory.resolve("key.pem"));
    };
  }

  /** As when the machine loses power: the engine and all its containers end at once. */
  public void crash() {
    end(process);
  }

  /** Starts a new engine on the same data; what lay in memory is gone, as after a reboot. */
  public void revive() throws InterruptedException {
    Processes.check(
        Command.of(
            "rm", "-rf", directory.resolve("pid").toString(), directory.resolve("exec").toString()),
        Deadline.after(TIMEOUT));
    process = launch();
  }

  private Process launch() {
    Process started =
        Processes.start(
            Command.of(
                "unshare",
                network == Network.OWN ? "--net" : "--ipc",
                "--mount",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
                "sh",
                "-c",
                START,
                "dockerd",
                directory.toString(),
                group(),
                flags()),
            directory.resolve("log").toFile());
    try {
      Awaitility.await("dockerd").atMost(TIMEOUT).until(() -> answers(started));
      return started;
    } catch (RuntimeException e) {
      end(started);
      throw e;
    }
  }

  private boolean answers(Process started) throws IOException, InterruptedException {
    if (!started.isAlive()) {
      throw new IllegalStateException(
          "dockerd ended at once: " + Files.readString(directory.resolve("log")));
    }
    try (var client = HttpClient.open(address());
        var response =
            client.send(HttpRequest.get("/_ping"), Deadline.after(Duration.ofSeconds(10)))) {
      return response.success();
    } catch (AgentException.Network | AgentException.Timeout _) {
      return false;
    }
  }

  private String group() {
    return directory.getFileName().toString();
  }

  private static void end(Process process) {
    process.destroyForcibly();
    try {
      if (!process.waitFor(30, TimeUnit.SECONDS)) {
        throw new IllegalStateException("dockerd does not end");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }

  @Override
  public void close() {
    end(process);
    remove(directory);
  }

  /** Processes of a namespace that ended may hold on to their groups for a moment. */
  private static void remove(Path directory) {
    var remove =
        Command.of(
            "sh", "-c", REMOVE, "rm", directory.toString(), directory.getFileName().toString());
    Awaitility.await("the engine's traces are gone")
        .atMost(TIMEOUT)
        .until(
            () ->
                Processes.run(remove, Deadline.after(TIMEOUT)).success()
                    && !Files.exists(directory));
  }
}
