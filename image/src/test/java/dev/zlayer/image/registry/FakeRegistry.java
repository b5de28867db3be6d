package dev.zlayer.image.registry;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.testkit.image.Content;
import dev.zlayer.testkit.image.MadeImage;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;

/** A registry in this process that serves what it is given, and misbehaves where it is told to. */
public final class FakeRegistry implements AutoCloseable {
  /** A request as it arrived. */
  public record Seen(
      String method, String path, String query, Optional<String> authorization, String range) {}

  /** Answers a request in its own way; false leaves it to the well-behaved registry. */
  @FunctionalInterface
  public interface Behaviour {
    boolean answers(HttpExchange exchange) throws IOException;
  }

  public final List<Seen> seen = new CopyOnWriteArrayList<>();
  private final Map<String, Content> manifests = new ConcurrentHashMap<>();
  private final Map<String, Content> blobs = new ConcurrentHashMap<>();
  private final CountDownLatch closing = new CountDownLatch(1);
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final HttpServer server;
  private volatile Behaviour behaviour = _ -> false;

  public FakeRegistry() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.createContext("/", this::handle);
    server.start();
  }

  public String host() {
    return "127.0.0.1:" + server.getAddress().getPort();
  }

  public ImageRef serve(MadeImage image, String nameAndTag) {
    ImageRef ref = ImageRef.parse(host() + "/" + nameAndTag);
    image.blobs().forEach(this::serve);
    image.manifests().forEach(manifest -> manifests.put(manifest.digest().toString(), manifest));
    manifests.put(ref.tag().orElseThrow(), image.manifest());
    return ref;
  }

  public void serve(Content blob) {
    blobs.put(blob.digest().toString(), blob);
  }

  public void serveManifest(String selector, Content manifest) {
    manifests.put(selector, manifest);
    manifests.put(manifest.digest().toString(), manifest);
  }

  public void behave(Behaviour behaviour) {
    this.behaviour = behaviour;
  }

  public long count(String method, String part) {
    return seen.stream()
        .filter(request -> request.method().equals(method) && request.path().contains(part))
        .count();
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      var headers = exchange.getRequestHeaders();
      seen.add(
          new Seen(
              exchange.getRequestMethod(),
              exchange.getRequestURI().getPath(),
              String.valueOf(exchange.getRequestURI().getRawQuery()),
              Optional.ofNullable(headers.getFirst("Authorization")),
              String.valueOf(headers.getFirst("Range"))));
      if (!behaviour.answers(exchange)) {
        serve(exchange);
      }
    }
  }

  private void serve(HttpExchange exchange) throws IOException {
    String path = exchange.getRequestURI().getPath();
    String last = path.substring(path.lastIndexOf('/') + 1);
    Content content = path.contains("/manifests/") ? manifests.get(last) : blobs.get(last);
    if (content == null) {
      text(exchange, 404, "{\"errors\":[{\"code\":\"X\",\"message\":\"not \\u001b[31mhere\"}]}");
      return;
    }
    send(exchange, content);
  }

  public static void send(HttpExchange exchange, Content content) throws IOException {
    send(exchange, content, exchange.getRequestHeaders().getFirst("Range"));
  }

  /** What is answered to {@code range}, or to none, whatever was asked for. */
  public static boolean send(HttpExchange exchange, Content content, @Nullable String range)
      throws IOException {
    exchange.getResponseHeaders().set("Docker-Content-Digest", content.digest().toString());
    exchange.getResponseHeaders().set("Content-Type", content.mediaType());
    String[] ends = range == null ? new String[] {"0"} : range.replace("bytes=", "").split("-");
    int from = Integer.parseInt(ends[0]);
    int size = content.bytes().length;
    int rest = (ends.length == 2 ? Integer.parseInt(ends[1]) + 1 : size) - from;
    if (range != null) {
      exchange
          .getResponseHeaders()
          .set("Content-Range", "bytes %d-%d/%d".formatted(from, from + rest - 1, size));
    }
    boolean head = exchange.getRequestMethod().equals("HEAD");
    exchange.sendResponseHeaders(range != null ? 206 : 200, head ? -1 : rest == 0 ? -1 : rest);
    if (!head) {
      exchange.getResponseBody().write(content.bytes(), from, rest);
    }
    return true;
  }

  public static boolean text(HttpExchange exchange, int status, String body) throws IOException {
    byte[] bytes = body.getBytes(java.nio.charset.StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
    exchange.getResponseBody().write(bytes);
    return true;
  }

  /** Announces all and sends only the first bytes, then breaks the connection. */
  public static boolean cut(HttpExchange exchange, Content content, int from, int until)
      throws IOException {
    exchange
        .getResponseHeaders()
        .set("Content-Range", "bytes %d-%d/%d".formatted(from, content.size() - 1, content.size()));
    exchange.sendResponseHeaders(from > 0 ? 206 : 200, content.size() - from);
    exchange.getResponseBody().write(content.bytes(), from, until - from);
    exchange.getResponseBody().flush();
    return true;
  }

  /** Sends some bytes and then nothing until the test ends. */
  public boolean stall(HttpExchange exchange, Content content, int until) throws IOException {
    cut(exchange, content, 0, until);
    try {
      closing.await();
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
    return true;
  }

  public boolean asksFor(HttpExchange exchange, Digest digest) {
    return exchange.getRequestURI().getPath().endsWith(digest.toString());
  }

  @Override
  public void close() {
    closing.countDown();
    server.stop(0);
    threads.shutdownNow();
  }
}
