package dev.zlayer.cli.dashboard;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.net.SocketFactory;

/** Requests with whatever headers, also those that no client would send. */
final class RawHttp {
  private static final int TIMEOUT_MS = 20_000;

  private final int port;
  private final SocketFactory sockets;

  /** An answer; the names of headers in small letters. */
  record Answer(int status, Map<String, List<String>> headers, String body) {
    String header(String name) {
      return String.join(", ", headers.getOrDefault(name, List.of()));
    }
  }

  RawHttp(int port, SocketFactory sockets) {
    this.port = port;
    this.sockets = sockets;
  }

  static RawHttp to(String link) {
    return new RawHttp(URI.create(link).getPort(), SocketFactory.getDefault());
  }

  String host() {
    return "127.0.0.1:" + port;
  }

  String origin() {
    return "http://" + host();
  }

  Answer send(String method, String path, Map<String, String> headers, String body)
      throws IOException {
    try (Socket socket = open(method, path, headers, body)) {
      return read(new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
    }
  }

  /** Sends a request and leaves the connection open. */
  Socket open(String method, String path, Map<String, String> headers, String body)
      throws IOException {
    var all = new TreeMap<String, String>(String.CASE_INSENSITIVE_ORDER);
    all.put("Host", host());
    all.put("Connection", "close");
    all.putAll(headers);
    byte[] content = body.getBytes(StandardCharsets.UTF_8);
    if (content.length > 0) {
      all.put("Content-Length", String.valueOf(content.length));
    }
    var head = new StringBuilder(method + " " + path + " HTTP/1.1\r\n");
    all.forEach((name, value) -> head.append(name).append(": ").append(value).append("\r\n"));
    Socket socket = sockets.createSocket(InetAddress.getLoopbackAddress(), port);
    socket.setSoTimeout(TIMEOUT_MS);
    socket.getOutputStream().write((head + "\r\n" + body).getBytes(StandardCharsets.UTF_8));
    socket.getOutputStream().flush();
    return socket;
  }

  private static Answer read(String text) {
    int end = text.indexOf("\r\n\r\n");
    List<String> lines = text.substring(0, end).lines().toList();
    var headers = new TreeMap<String, List<String>>();
    for (String line : lines.subList(1, lines.size())) {
      String[] parts = line.split(": ", 2);
      headers.merge(
          parts[0].toLowerCase(java.util.Locale.ROOT),
          List.of(parts[1]),
          (one, other) -> java.util.stream.Stream.concat(one.stream(), other.stream()).toList());
    }
    return new Answer(
        Integer.parseInt(lines.getFirst().split(" ", 3)[1]), headers, text.substring(end + 4));
  }
}
