package dev.zlayer.bench.engine;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/**
 * As little of HTTP as Docker's interface needs. Version 1.0 has no chunks: an answer ends with its
 * connection.
 */
record DockerApi(Path socket) {
  /** A daemon that gets a body it does not want resets the connection. */
  private static final byte[] NOTHING = {};

  Json post(String path) throws IOException {
    return json("POST", path, NOTHING);
  }

  Json post(String path, Json body) throws IOException {
    return json("POST", path, JsonText.bytes(body));
  }

  Json read(String path) throws IOException {
    return json("GET", path, NOTHING);
  }

  /** Has it pull an image; a registry without TLS on this host. */
  void pull(String image) throws IOException {
    int colon = image.lastIndexOf(':');
    count(
        "POST",
        "/images/create?fromImage=%s&tag=%s"
            .formatted(image.substring(0, colon), image.substring(colon + 1)),
        Json.Null.INSTANCE);
  }

  /** An answer that does not end; whoever opens it closes it. */
  InputStream open(String path) throws IOException {
    return Channels.newInputStream(send("GET", path, NOTHING));
  }

  void delete(String path) throws IOException {
    json("DELETE", path, NOTHING);
  }

  /** Reads an answer of any length to its end and counts the bytes. */
  long count(String method, String path, Json body) throws IOException {
    byte[] sent = body.isNull() ? NOTHING : JsonText.bytes(body);
    try (SocketChannel channel = send(method, path, sent);
        InputStream in = Channels.newInputStream(channel)) {
      var buffer = new byte[1 << 20];
      long bytes = 0;
      for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
        bytes += count;
      }
      return bytes;
    }
  }

  private Json json(String method, String path, byte[] body) throws IOException {
    String answer;
    try (SocketChannel channel = send(method, path, body);
        InputStream in = new BufferedInputStream(Channels.newInputStream(channel))) {
      answer = new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
    int status = Integer.parseInt(answer.substring(9, 12));
    String content = answer.substring(answer.indexOf("\r\n\r\n") + 4);
    if (status >= 400) {
      throw new IOException("%s %s: %d %s".formatted(method, path, status, content.strip()));
    }
    boolean isJson = content.startsWith("{") || content.startsWith("[");
    return isJson ? JsonText.parse(content.lines().findFirst().orElse("")) : Json.Null.INSTANCE;
  }

  private SocketChannel send(String method, String path, byte[] body) throws IOException {
    SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      channel.connect(UnixDomainSocketAddress.of(socket));
      String head =
          "%s /v1.41%s HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
              .formatted(method, path, body.length);
      channel.write(ByteBuffer.wrap(head.getBytes(StandardCharsets.US_ASCII)));
      channel.write(ByteBuffer.wrap(body));
      return channel;
    } catch (IOException e) {
      channel.close();
      throw e;
    }
  }
}
