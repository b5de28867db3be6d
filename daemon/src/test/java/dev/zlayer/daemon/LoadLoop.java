package dev.zlayer.daemon;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.awaitility.Awaitility;

/**
 * Clients that send one request after the other, each over a connection of its own; remembers what
 * failed.
 */
final class LoadLoop implements AutoCloseable {
  private static final int CLIENTS = 4;

  /** Less than the kernel's memory of refused connections lasts, more than a busy machine takes. */
  private static final int MILLIS = 8000;

  /** Between two requests of a client, so that the machine has time for what is tested. */
  private static final long PACE = 2_000_000;

  /** A request that was not answered well. */
  record Failure(Instant began, String what) {}

  private final int port;
  private final List<Failure> failures = new CopyOnWriteArrayList<>();
  private final AtomicLong requests = new AtomicLong();
  private final List<Thread> threads = new ArrayList<>();
  private volatile String last = "";
  private volatile boolean closing;

  private LoadLoop(int port) {
    this.port = port;
    for (int client = 0; client < CLIENTS; client++) {
      threads.add(Thread.ofVirtual().name("load " + client).unstarted(this::run));
    }
  }

  static LoadLoop on(int port) {
    var load = new LoadLoop(port);
    load.threads.forEach(Thread::start);
    return load;
  }

  private void run() {
    while (!closing) {
      Instant began = Instant.now();
      try {
        String answer = ask();
        last = answer;
        if (!answer.startsWith("HTTP/1.") || !answer.contains(" 200 ")) {
          failures.add(new Failure(began, answer));
        }
      } catch (IOException e) {
        failures.add(new Failure(began, e + "; half open: " + halfOpen()));
      }
      requests.incrementAndGet();
      LockSupport.parkNanos(PACE);
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

  List<Failure> failures() {
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
    for (Thread thread : threads) {
      thread.join();
    }
  }
}
