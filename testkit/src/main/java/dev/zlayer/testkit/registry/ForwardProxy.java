package dev.zlayer.testkit.registry;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A forward proxy on the loopback interface. Whatever host is asked for, it connects to one port of
 * this machine, so that names nobody can resolve are reached through it only.
 */
public final class ForwardProxy implements AutoCloseable {
  /** The first line of a request and its credentials. */
  public record Seen(String line, Optional<String> authorization) {}

  private final List<Seen> seen = new CopyOnWriteArrayList<>();
  private final ServerSocket server;
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final int target;
  private final Optional<String> wanted;

  /** Lets those through that show the wanted value of Proxy-Authorization. */
  public ForwardProxy(int target, Optional<String> wanted) throws IOException {
    this.target = target;
    this.wanted = wanted;
    this.server = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
    threads.execute(this::accept);
  }

  public int port() {
    return server.getLocalPort();
  }

  /** The requests so far. */
  public List<Seen> seen() {
    return List.copyOf(seen);
  }

  private void accept() {
    while (!server.isClosed()) {
      try {
        Socket client = server.accept();
        threads.execute(() -> serve(client));
      } catch (IOException _) {
        return; // closed
      }
    }
  }

  private void serve(Socket client) {
    try (client) {
      var in =
          new BufferedReader(
              new InputStreamReader(client.getInputStream(), StandardCharsets.ISO_8859_1));
      String line = in.readLine();
      if (line == null) {
        return;
      }
      var headers = new StringBuilder();
      Optional<String> authorization = Optional.empty();
      for (String header = in.readLine();
          header != null && !header.isEmpty();
          header = in.readLine()) {
        String lower = header.toLowerCase(java.util.Locale.ROOT);
        if (lower.startsWith("proxy-authorization: ")) {
          authorization = Optional.of(header.substring("proxy-authorization: ".length()));
        } else if (!lower.startsWith("connection:")) {
          headers.append(header).append("\r\n");
        }
      }
      seen.add(new Seen(line, authorization));
      OutputStream out = client.getOutputStream();
      if (wanted.isPresent() && !wanted.equals(authorization)) {
        write(out, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n");
      } else if (line.startsWith("CONNECT ")) {
        tunnel(client, out);
      } else {
        forward(line.split(" ", 3), headers.toString(), out);
      }
    } catch (IOException _) {
      // the other side has closed
    }
  }

  /** Bytes in both directions until one side has ended; what is in them nobody here can read. */
  private void tunnel(Socket client, OutputStream out) throws IOException {
    try (var registry = new Socket(InetAddress.getLoopbackAddress(), target)) {
      write(out, "HTTP/1.1 200 Connection established\r\n\r\n");
      threads.execute(
          () -> {
            try (client;
                registry) {
              client.getInputStream().transferTo(registry.getOutputStream());
            } catch (IOException _) {
              // one of them has closed
            }
          });
      registry.getInputStream().transferTo(out);
    }
  }

  private void forward(String[] line, String headers, OutputStream out) throws IOException {
    URI uri = URI.create(line[1]);
    try (var registry = new Socket(InetAddress.getLoopbackAddress(), target)) {
      String path = uri.getRawPath() + (uri.getRawQuery() == null ? "" : "?" + uri.getRawQuery());
      write(
          registry.getOutputStream(),
          line[0] + " " + path + " HTTP/1.1\r\n" + headers + "Connection: close\r\n\r\n");
      registry.getInputStream().transferTo(out);
    }
  }

  private static void write(OutputStream out, String text) throws IOException {
    out.write(text.getBytes(StandardCharsets.ISO_8859_1));
    out.flush();
  }

  @Override
  public void close() throws IOException {
    server.close();
    threads.shutdownNow();
  }
}
