package dev.zlayer.daemon;

import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.http.HttpClient;
import dev.zlayer.host.http.HttpHeaders;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.host.http.WebSocket;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A client of the Docker Engine API that sends what a test wants, byte by byte if need be. */
final class DockerWire implements AutoCloseable {
  private static final int MOST = 16 << 20;

  /** A machine that does much else at the same time takes long. */
  private static final Duration LIMIT = Duration.ofSeconds(90);

  private final Supplier<Path> socket;
  private @Nullable HttpClient client;

  /** What came back. */
  record Reply(int status, HttpHeaders headers, String text) {
    Json json() {
      return JsonText.parse(text);
    }

    Reply expect(int status) {
      if (this.status != status) {
        throw new AssertionError("%d instead of %d: %s".formatted(this.status, status, text));
      }
      return this;
    }

    String message() {
      return json().at("message").string().orElse("");
    }
  }

  DockerWire(Path socket) {
    this(() -> socket);
  }

  /** Of an agent that is there when something is sent. */
  DockerWire(Supplier<Path> socket) {
    this.socket = socket;
  }

  private synchronized HttpClient client() {
    if (client == null) {
      client = HttpClient.open(new HttpAddress.Unix(socket.get()));
    }
    return client;
  }

  Reply send(String method, String path) throws InterruptedException {
    return send(HttpRequest.of(method, path));
  }

  Reply post(String path, String json) throws InterruptedException {
    return send(HttpRequest.of("POST", path).withJson(json));
  }

  Reply put(String path, byte[] body) throws InterruptedException {
    return send(HttpRequest.of("PUT", path).withBody(new HttpRequest.Body.Bytes(body)));
  }

  Reply postBytes(String path, byte[] body) throws InterruptedException {
    return send(HttpRequest.of("POST", path).withBody(new HttpRequest.Body.Bytes(body)));
  }

  private Reply send(HttpRequest request) throws InterruptedException {
    try (HttpResponse response = client().send(request, Deadline.after(LIMIT))) {
      return new Reply(response.status(), response.headers(), response.text(MOST));
    }
  }

  /** Makes a container and returns its id. */
  String create(String name, String json) throws InterruptedException {
    return post("/containers/create?name=" + name, json)
        .expect(201)
        .json()
        .at("Id")
        .string()
        .orElseThrow();
  }

  WebSocket socket(String path) throws InterruptedException {
    return switch (WebSocket.open(
        client(), path, HttpHeaders.NONE, 1 << 20, Deadline.after(LIMIT))) {
      case WebSocket.Opened.Accepted(WebSocket socket) -> socket;
      case WebSocket.Opened.Refused(HttpResponse response) ->
          throw new AssertionError(response.status() + ": " + response.text(MOST));
    };
  }

  /** A connection of its own, on which anything can be sent. */
  Raw raw() throws IOException {
    return new Raw(SocketChannel.open(StandardProtocolFamily.UNIX), socket.get());
  }

  /** Bytes in both directions. */
  static final class Raw implements AutoCloseable {
    private final SocketChannel channel;

    private Raw(SocketChannel channel, Path socket) throws IOException {
      this.channel = channel;
      channel.connect(UnixDomainSocketAddress.of(socket));
    }

    Raw send(String text) throws IOException {
      return send(text.getBytes(StandardCharsets.UTF_8));
    }

    Raw send(byte[] content) throws IOException {
      ByteBuffer bytes = ByteBuffer.wrap(content);
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
      return this;
    }

    /** A whole request with an archive as its body. */
    Raw post(String path, byte[] archive) throws IOException {
      return send("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-tar\r\nContent-Length: %d\r\n\r\n"
              .formatted(path, archive.length))
          .send(archive);
    }

    /** Ends this direction; the other one goes on. */
    Raw end() throws IOException {
      channel.shutdownOutput();
      return this;
    }

    /** What has arrived by now, without waiting for more. */
    String arrived() throws IOException {
      var content = new ByteArrayOutputStream();
      ByteBuffer some = ByteBuffer.allocate(1 << 16);
      channel.configureBlocking(false);
      while (channel.read(some.clear()) > 0) {
        content.write(some.array(), 0, some.position());
      }
      channel.configureBlocking(true);
      return content.toString(StandardCharsets.UTF_8);
    }

    /** The head of the answer, up to the empty line. */
    String head() throws IOException {
      var head = new ByteArrayOutputStream();
      ByteBuffer one = ByteBuffer.allocate(1);
      while (!head.toString(StandardCharsets.ISO_8859_1).endsWith("\r\n\r\n")) {
        if (channel.read(one.clear()) < 0) {
          throw new AssertionError("no answer: " + head);
        }
        head.write(one.get(0));
      }
      return head.toString(StandardCharsets.ISO_8859_1);
    }

    /** All that follows until the other side ends. */
    byte[] rest() throws IOException {
      var rest = new ByteArrayOutputStream();
      ByteBuffer some = ByteBuffer.allocate(8192);
      while (channel.read(some.clear()) >= 0) {
        rest.write(some.array(), 0, some.position());
      }
      return rest.toByteArray();
    }

    @Override
    public void close() throws IOException {
      channel.close();
    }
  }

  /** What the frames of a stream carry, each as its number and its content. */
  static String frames(byte[] bytes) {
    var text = new StringBuilder();
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    while (buffer.remaining() >= 8) {
      int stream = buffer.get();
      buffer.position(buffer.position() + 3);
      var content = new byte[buffer.getInt()];
      buffer.get(content);
      text.append(stream).append(':').append(new String(content, StandardCharsets.UTF_8));
    }
    return text.toString();
  }

  @Override
  public synchronized void close() {
    if (client != null) {
      client.close();
    }
  }
}
