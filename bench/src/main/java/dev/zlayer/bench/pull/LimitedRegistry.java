package dev.zlayer.bench.pull;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.zlayer.bench.engine.Tool;
import dev.zlayer.oci.ImageRef;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;

/**
 * A registry with one image of one large layer that gives each connection only so many bytes a
 * second, as those of large providers do. It serves the image as {@code ranges:1} with ranges and
 * as {@code whole:1} without.
 */
public final class LimitedRegistry implements AutoCloseable {
  private static final int CHUNK = 256 << 10;

  private final long bytesPerSecond;
  private final Path layer;
  private final String digest;
  private final byte[] config;
  private final byte[] manifest;
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final HttpServer server;

  /** Makes the layer, of content that no compression shortens, in {@code directory}. */
  public LimitedRegistry(Path directory, int megabytes, int megabytesPerSecond) throws Exception {
    bytesPerSecond = megabytesPerSecond * 1_000_000L;
    Files.createDirectories(directory);
    Path content = directory.resolve("content");
    Tool.run(
        "dd",
        "if=/dev/urandom",
        "of=" + content,
        "bs=1000000",
        "count=" + megabytes,
        "status=none");
    layer = directory.resolve("layer.tar");
    Tool.run("tar", "-C", directory.toString(), "-cf", layer.toString(), "content");
    Files.delete(content);
    digest = digest(layer);
    config =
        "{\"architecture\":\"amd64\",\"os\":\"linux\",\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"%s\"]}}"
            .formatted(digest)
            .getBytes(StandardCharsets.UTF_8);
    manifest = manifest().getBytes(StandardCharsets.UTF_8);
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.createContext("/", this::answer);
    server.start();
  }

  private String manifest() {
    return """
    {"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",
     "config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"%s","size":%d},
     "layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"%s","size":%d}]}
    """
        .formatted(digest(config), config.length, digest, layer.toFile().length());
  }

  /** The image, divisible or not. */
  public ImageRef image(boolean ranges) {
    return ImageRef.parse(
        "127.0.0.1:%d/%s:1".formatted(server.getAddress().getPort(), ranges ? "ranges" : "whole"));
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      String path = exchange.getRequestURI().getPath();
      if (path.contains("/manifests/")) {
        send(exchange, "application/vnd.oci.image.manifest.v1+json", manifest);
      } else if (path.endsWith(digest)) {
        sendLayer(exchange, path.contains("/ranges/"));
      } else {
        send(exchange, "application/octet-stream", config);
      }
    }
  }

  private static void send(HttpExchange exchange, String type, byte[] bytes) throws IOException {
    exchange.getResponseHeaders().set("Content-Type", type);
    exchange.getResponseHeaders().set("Docker-Content-Digest", digest(bytes));
    boolean head = exchange.getRequestMethod().equals("HEAD");
    exchange.sendResponseHeaders(200, head ? -1 : bytes.length);
    if (!head) {
      exchange.getResponseBody().write(bytes);
    }
  }

  private void sendLayer(HttpExchange exchange, boolean ranges) throws IOException {
    long size = Files.size(layer);
    long from = 0;
    long until = size;
    String asked = exchange.getRequestHeaders().getFirst("Range");
    if (ranges && asked != null) {
      String[] ends = asked.replace("bytes=", "").split("-", -1);
      from = Long.parseLong(ends[0]);
      until = ends[1].isEmpty() ? size : Long.parseLong(ends[1]) + 1;
      exchange
          .getResponseHeaders()
          .set("Content-Range", "bytes %d-%d/%d".formatted(from, until - 1, size));
      exchange.sendResponseHeaders(206, until - from);
    } else {
      exchange.sendResponseHeaders(200, size);
    }
    try (InputStream in = Files.newInputStream(layer)) {
      in.skipNBytes(from);
      copy(in, until - from, exchange.getResponseBody());
    }
  }

  private void copy(InputStream in, long count, OutputStream out) throws IOException {
    long began = System.nanoTime();
    long sent = 0;
    while (sent < count) {
      byte[] bytes = in.readNBytes((int) Math.min(CHUNK, count - sent));
      out.write(bytes);
      sent += bytes.length;
      long due = began + (long) (sent * 1e9 / bytesPerSecond);
      LockSupport.parkNanos(due - System.nanoTime());
    }
  }

  private static String digest(byte[] bytes) {
    return "sha256:" + HexFormat.of().formatHex(sha256().digest(bytes));
  }

  private static String digest(Path file) throws IOException {
    MessageDigest hash = sha256();
    try (var in = new DigestInputStream(Files.newInputStream(file), hash)) {
      in.transferTo(OutputStream.nullOutputStream());
    }
    return "sha256:" + HexFormat.of().formatHex(hash.digest());
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (java.security.NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
