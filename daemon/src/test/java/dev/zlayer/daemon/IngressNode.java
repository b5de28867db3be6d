package dev.zlayer.daemon;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.FreePorts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.awaitility.Awaitility;

/** A daemon with an ingress on a loopback port of its own, and a client of that port. */
final class IngressNode implements AutoCloseable {
  /** Answers with a word and the request's head. */
  static final String ECHO =
      """
      image: IMAGE
      command:
        - sh
        - -c
        - |
          cat > /echo <<'END'
          head=WORD
          while IFS= read -r line; do
            line=$(printf %s "$line" | tr -d '\\r')
            [ -z "$line" ] && break
            head=$(printf '%s\\n%s' "$head" "$line")
          done
          printf 'HTTP/1.1 200 OK\\r\\nContent-Type: text/plain\\r\\nContent-Length: %d\\r\\nConnection: close\\r\\n\\r\\n%s' ${#head} "$head"
          END
          exec nc -ll -p 8080 -e sh /echo
      health: {check: {type: tcp, port: 8080}, interval: 200ms, timeout: 5s}
      stop_grace_period: 0s
      """;

  final Node node = new Node();
  final int port;
  final int https = FreePorts.take();
  private ChildDaemon daemon;
  private Rest rest;

  IngressNode() throws Exception {
    this(FreePorts.take(), Map.of());
  }

  /** On that port, with further settings. */
  IngressNode(int port, Map<String, String> settings) throws Exception {
    this.port = port;
    node.with("ingress_http", "127.0.0.1:" + port);
    node.with("ingress_https", "127.0.0.1:" + https);
    settings.forEach(node::with);
    try {
      start();
      Node.loadImage(rest);
    } catch (RuntimeException | Error | InterruptedException e) {
      close();
      throw e;
    }
  }

  void start() {
    daemon = ChildDaemon.start(node);
    rest = node.rest();
  }

  void kill() throws Exception {
    rest.close();
    daemon.kill();
  }

  Rest rest() {
    return rest;
  }

  static String echo(String word) {
    return ECHO.replace("WORD", word);
  }

  void up(String name, String services) throws InterruptedException {
    String file =
        "version: v1\ndeployment: %s\nservices:\n%s"
            .formatted(name, services.indent(2))
            .replace("IMAGE", "{name: %s, pull_policy: never}".formatted(Node.IMAGE));
    rest.put("/deployments/" + name + "?directory=/", file.getBytes(StandardCharsets.UTF_8))
        .expect(202);
  }

  void running(String deployment, String service) {
    await(
        deployment + "/" + service + " runs",
        () -> service(deployment, service).at("state").string().orElse("").equals("running"));
  }

  Json service(String deployment, String name) throws InterruptedException {
    return rest.get("/deployments/%s/services/%s".formatted(deployment, name)).expect(200).json();
  }

  void down(String name) throws InterruptedException {
    rest.delete("/deployments/" + name + "?wait=60s");
    await("removed", () -> rest.get("/deployments/" + name).status() == 404);
  }

  void scale(String deployment, String service, int replicas) throws InterruptedException {
    rest.post(
            "/deployments/%s/services/%s/scale".formatted(deployment, service),
            "{\"replicas\": %d}".formatted(replicas))
        .expect(204);
  }

  /** The response to a plain request, as text. */
  String get(String host, String path, String... headers) throws IOException {
    var request = new StringBuilder("GET %s HTTP/1.1\r\nHost: %s\r\n".formatted(path, host));
    for (String header : headers) {
      request.append(header).append("\r\n");
    }
    return send(request.append("Connection: close\r\n\r\n").toString());
  }

  /** Sends exactly this, and returns all that comes back until the connection ends. */
  String send(String bytes) throws IOException {
    try (var socket = new Socket()) {
      socket.setSoTimeout(60_000);
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 5_000);
      socket.getOutputStream().write(bytes.getBytes(StandardCharsets.ISO_8859_1));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
    } catch (SocketTimeoutException e) {
      throw new AssertionError("no end of the response to " + bytes, e);
    }
  }

  /** The status of a response. */
  static int status(String response) throws IOException {
    if (!response.startsWith("HTTP/1.1 ")) {
      throw new IOException("no response: " + response);
    }
    return Integer.parseInt(response.substring(9, 12));
  }

  /** What HAProxy's master says to a command. */
  String master(String command) throws IOException {
    Path socket = node.configured().config().directories().ingress().resolve("m");
    try (var channel = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
      channel.write(ByteBuffer.wrap((command + "\n").getBytes(StandardCharsets.UTF_8)));
      channel.shutdownOutput();
      return new String(Channels.newInputStream(channel).readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  /** The one process that serves requests, of those that HAProxy has. */
  long worker() throws IOException {
    return master("show proc")
        .lines()
        .map(line -> line.split("\\s+", -1))
        .filter(fields -> fields.length > 1 && fields[1].equals("worker"))
        .mapToLong(fields -> Long.parseLong(fields[0]))
        .findFirst()
        .orElseThrow(() -> new IOException("there is no worker"));
  }

  /** A file of the ingress as it was read. */
  record Kept(Path file, Set<PosixFilePermission> permissions, String text) {}

  /** All its files; they are read once more when one was replaced meanwhile. */
  List<Kept> files() {
    Path ingress = node.configured().config().directories().ingress();
    return Awaitility.await("files that stay while they are read")
        .ignoreExceptionsMatching(
            e -> e instanceof IOException || e instanceof UncheckedIOException)
        .until(() -> files(ingress), kept -> !kept.isEmpty());
  }

  private static List<Kept> files(Path directory) throws IOException {
    var all = new ArrayList<Kept>();
    try (Stream<Path> found = Files.walk(directory)) {
      for (Path file : found.filter(Files::isRegularFile).toList()) {
        all.add(
            new Kept(
                file,
                Files.getPosixFilePermissions(file),
                Files.readString(file, StandardCharsets.ISO_8859_1)));
      }
    }
    return all;
  }

  static String curl(String... arguments) throws InterruptedException {
    var command = new ArrayList<>(List.of("curl", "-sS", "--max-time", "20"));
    command.addAll(List.of(arguments));
    return Processes.check(Command.of(command), Deadline.after(Duration.ofSeconds(30))).stdout();
  }

  static void await(String what, Callable<Boolean> holds) {
    Awaitility.await(what)
        .pollInterval(Duration.ofMillis(20))
        .atMost(Duration.ofSeconds(60))
        .ignoreExceptionsInstanceOf(IOException.class)
        .until(holds);
  }

  @Override
  public void close() throws Exception {
    if (rest != null) {
      rest.close();
    }
    if (daemon != null) {
      daemon.close();
    }
    node.close();
  }
}
