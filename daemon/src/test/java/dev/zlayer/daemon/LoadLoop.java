package dev.zlayer.daemon;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;

/** One request after the other, each over a connection of its own; remembers what failed. */
final class LoadLoop implements AutoCloseable {
  private static final int MILLIS = 5000;

  private final int port;
  private final List<String> failures = new CopyOnWriteArrayList<>();
  private final AtomicLong requests = new AtomicLong();
  private final Thread thread;
  private volatile String last = "";
  private volatile boolean closing;

  private LoadLoop(int port) {
    this.port = port;
    this.thread = Thread.ofVirtual().name("load").unstarted(this::run);
  }

  static LoadLoop on(int port) {
    var load = new LoadLoop(port);
    load.thread.start();
    return load;
  }

  private void run() {
    while (!closing) {
      try {
        last = ask();
        if (!last.startsWith("HTTP/1.") || !last.contains(" 200 ")) {
          failures.add(last);
        }
      } catch (IOException e) {
        failures.add(e + "; half open: " + halfOpen());
      }
      requests.incrementAndGet();
    }
  }

  private String ask() throws IOException {
    try (var socket = new Socket()) {
      socket.connect(new InetSocketAddress("127.0.0.1", port), MILLIS);
      socket.setSoTimeout(MILLIS);
      socket
          .getOutputStream()
          .write("GET /index.html HTTP/1.0\r\n\r\n".getBytes(StandardCharsets.UTF_8));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  /** Where connections go that nobody answers; tells more than the failure itself. */
  private static List<String> halfOpen() {
    try (var lines = Files.lines(Path.of("/proc/net/nf_conntrack"))) {
      return lines.filter(line -> line.contains(" SYN_SENT ")).toList();
    } catch (IOException e) {
      return List.of(e.toString());
    }
  }

  List<String> failures() {
    return failures;
  }

  /** What failed so far does not count. */
  void forgive() {
    failures.clear();
  }

  void awaitRequests(int more) {
    long wanted = requests.get() + more;
    Awaitility.await().atMost(Duration.ofSeconds(60)).until(() -> requests.get() >= wanted);
  }

  void awaitAnswer(String text) {
    Awaitility.await().atMost(Duration.ofSeconds(60)).until(() -> last.contains(text));
  }

  @Override
  public void close() throws InterruptedException {
    closing = true;
    thread.join();
  }
}
