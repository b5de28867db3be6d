package dev.zlayer.host.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class HttpClientTest {
  @TempDir Path directory;

  @Test
  void readsABodyOfKnownLength() throws Exception {
    assertThat(answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")).isEqualTo("hello");
  }

  @Test
  void readsABodyInChunksWithExtensionsAndTrailers() throws Exception {
    assertThat(
            answer(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: t\r\n\r\n"))
        .isEqualTo("hello");
  }

  @Test
  void readsABodyUpToTheEndOfTheConnection() throws Exception {
    assertThat(answer("HTTP/1.0 200 OK\r\n\r\nhello")).isEqualTo("hello");
  }

  @Test
  void passesOverAnAnswerThatAnnouncesAnother() throws Exception {
    assertThat(
            answer("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
        .isEqualTo("ok");
  }

  /**
   * The kernel asks for a peer that is silent, so that one without power is not awaited for ever.
   */
  @Test
  void aSilentPeerOfTheNetworkIsAskedFor() throws Exception {
    try (var server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        var client = HttpClient.open(new HttpAddress.Tcp("127.0.0.1", server.getLocalPort()));
        var scope = new TaskScope("peer")) {
      var asked =
          scope.fork(
              () -> {
                try (Socket peer = server.accept()) {
                  int asks = peer.getInputStream().read();
                  assertThat(asks).isEqualTo('G');
                  await().until(() -> timer(peer.getPort()).startsWith("02:"));
                  peer.getOutputStream()
                      .write("HTTP/1.1 204 No Content\r\n\r\n".getBytes(StandardCharsets.UTF_8));
                  return true;
                }
              });
      client.send(HttpRequest.get("/"), Deadline.none()).close();
      scope.join();
      assertThat(asked.result()).isTrue();
    }
  }

  /** Which timer of the kernel runs for a connection: 2 is that which keeps it alive. */
  private static String timer(int port) throws IOException {
    String local = ":%04X".formatted(port);
    var lines = new ArrayList<>(Files.readAllLines(Path.of("/proc/self/net/tcp6")));
    lines.addAll(Files.readAllLines(Path.of("/proc/self/net/tcp")));
    return lines.stream()
        .map(line -> line.strip().split("\\s+"))
        .filter(words -> words[1].endsWith(local) && words[3].equals("01"))
        .map(words -> words[5])
        .findFirst()
        .orElse("");
  }

  @Test
  void sendsHeadersAndBodyAsAsked() throws Exception {
    var heard = new AtomicReference<String>();
    try (var server =
            new ScriptedServer(
                directory,
                peer -> {
                  String head = peer.head();
                  heard.set(head + new String(peer.in().readNBytes(2), StandardCharsets.UTF_8));
                  peer.say("HTTP/1.1 204 No Content\r\n\r\n");
                });
        var client = HttpClient.open(server.address())) {
      try (var response =
          client.send(
              HttpRequest.of("POST", "/a?b=c").with("X-Token", "t").withJson("{}"), soon())) {
        assertThat(response.status()).isEqualTo(204);
      }
    }
    assertThat(heard.get())
        .startsWith("POST /a?b=c HTTP/1.1\r\nHost: localhost\r\n")
        .contains("X-Token: t\r\n", "Content-Type: application/json\r\n", "Content-Length: 2\r\n")
        .endsWith("\r\n\r\n{}");
  }

  @Test
  void aStreamedBodyTravelsInChunks() throws Exception {
    var heard = new AtomicReference<String>();
    try (var server =
            new ScriptedServer(
                directory,
                peer -> {
                  heard.set(peer.head() + readTo(peer, "0\r\n\r\n"));
                  peer.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                });
        var client = HttpClient.open(server.address())) {
      var body =
          new HttpRequest.Body.Streamed(
              out -> {
                out.write("one".getBytes(StandardCharsets.UTF_8));
                out.write("fifteen letters".getBytes(StandardCharsets.UTF_8));
              });
      client.send(HttpRequest.of("PUT", "/x").withBody(body), soon()).close();
    }
    assertThat(heard.get())
        .contains("Transfer-Encoding: chunked\r\n")
        .endsWith("3\r\none\r\nf\r\nfifteen letters\r\n0\r\n\r\n");
  }

  @Test
  void anAnswerBeforeTheWholeBodyWasReadCounts() throws Exception {
    try (var server =
            new ScriptedServer(
                directory,
                peer -> {
                  peer.head();
                  peer.say("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig");
                  peer.channel().shutdownInput();
                  peer.channel().shutdownOutput();
                });
        var client = HttpClient.open(server.address())) {
      var endless =
          new HttpRequest.Body.Streamed(
              out -> {
                while (true) {
                  out.write(new byte[65536]);
                }
              });
      try (var response = client.send(HttpRequest.of("PUT", "/x").withBody(endless), soon())) {
        assertThat(response.status()).isEqualTo(413);
        assertThat(response.text(10)).isEqualTo("big");
      }
    }
  }

  private static void waitFor(CountDownLatch end, int millis) {
    try {
      boolean _ = end.await(millis, TimeUnit.MILLISECONDS);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void anAnswerThatFallsSilentEndsAndOneThatGoesOnDoesNot() throws Exception {
    var end = new CountDownLatch(1);
    try (var server =
            new ScriptedServer(
                directory,
                peer -> {
                  peer.head();
                  peer.say("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n");
                  for (int i = 0; i < 6; i++) {
                    waitFor(end, 400);
                    peer.say("x");
                  }
                  waitFor(end, 60_000);
                });
        var client = HttpClient.open(server.address());
        var response = client.send(HttpRequest.get("/"), Duration.ofSeconds(2))) {
      assertThat(response.body().readNBytes(6)).hasSize(6); // takes longer than any silence
      assertThatThrownBy(() -> response.body().read()).hasMessageContaining("2s");
    } finally {
      end.countDown();
    }
  }

  @Test
  void aBodyThatCannotBeProducedIsNotAnAnswer() throws Exception {
    try (var server = ScriptedServer.saying(directory, "HTTP/1.1 200 OK\r\n\r\n");
        var client = HttpClient.open(server.address())) {
      var broken =
          new HttpRequest.Body.Streamed(
              _ -> {
                throw new IOException("no such source");
              });
      assertThatThrownBy(() -> client.send(HttpRequest.of("PUT", "/x").withBody(broken), soon()))
          .isInstanceOf(AgentException.Network.class)
          .hasMessageContaining("no such source");
    }
  }

  @Test
  void requestsOneAfterTheOtherShareAConnection() throws Exception {
    try (var server = keepAlive();
        var client = HttpClient.open(server.address())) {
      for (int i = 0; i < 5; i++) {
        assertThat(client.send(HttpRequest.get("/" + i), soon()).text(10)).isEqualTo("ok");
      }
      assertThat(server.accepted()).isEqualTo(1);
    }
  }

  @Test
  void aBodyNotReadToItsEndEndsItsConnection() throws Exception {
    try (var server = keepAlive();
        var client = HttpClient.open(server.address())) {
      client.send(HttpRequest.get("/"), soon()).close();
      assertThat(client.send(HttpRequest.get("/"), soon()).text(10)).isEqualTo("ok");
      assertThat(server.accepted()).isEqualTo(2);
    }
  }

  @Test
  void aConnectionThatTheServerClosedMeanwhileIsNotUsed() throws Exception {
    var closed = new Semaphore(0);
    try (var server =
            new ScriptedServer(
                directory,
                peer -> {
                  peer.head();
                  peer.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                  peer.channel().close();
                  closed.release();
                });
        var client = HttpClient.open(server.address())) {
      for (int i = 0; i < 3; i++) {
        assertThat(client.send(HttpRequest.of("POST", "/"), soon()).text(10)).isEqualTo("ok");
        assertThat(closed.tryAcquire(10, TimeUnit.SECONDS)).isTrue();
      }
      assertThat(server.accepted()).isEqualTo(3);
    }
  }

  @Test
  void aServerThatIsNotThereIsANetworkError() {
    try (var client = HttpClient.open(new HttpAddress.Unix(directory.resolve("none")))) {
      assertThatThrownBy(() -> client.send(HttpRequest.get("/"), soon()))
          .isInstanceOf(AgentException.Network.class)
          .hasMessageContaining("GET / at unix://");
    }
  }

  @Test
  void aServerThatIsSilentRunsIntoTheDeadline() throws Exception {
    try (var server = new ScriptedServer(directory, peer -> peer.in().readAllBytes());
        var client = HttpClient.open(server.address())) {
      assertThatThrownBy(
              () -> client.send(HttpRequest.get("/"), Deadline.after(Duration.ofMillis(50))))
          .isInstanceOf(AgentException.Timeout.class);
    }
  }

  @Test
  void aServerThatStopsInsideABodyRunsIntoTheDeadline() throws Exception {
    try (var server =
            new ScriptedServer(
                directory,
                peer -> {
                  peer.head();
                  peer.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe");
                  peer.in().readAllBytes();
                });
        var client = HttpClient.open(server.address())) {
      Deadline deadline = Deadline.after(Duration.ofMillis(300));
      assertThatThrownBy(() -> client.send(HttpRequest.get("/"), deadline).text(10))
          .isInstanceOf(AgentException.Timeout.class);
    }
  }

  @Test
  void anInterruptEndsAWaitingRequest() throws Exception {
    var waiting = new CountDownLatch(1);
    var outcome = new AtomicReference<Throwable>();
    try (var server =
            new ScriptedServer(
                directory,
                peer -> {
                  peer.head();
                  waiting.countDown();
                  peer.in().readAllBytes();
                });
        var client = HttpClient.open(server.address())) {
      Thread thread =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      client.send(HttpRequest.get("/"), Deadline.none());
                    } catch (InterruptedException | RuntimeException e) {
                      outcome.set(e);
                    }
                  });
      waiting.await();
      thread.interrupt();
      thread.join();
    }
    assertThat(outcome.get()).isInstanceOf(InterruptedException.class);
  }

  @Test
  void whatCouldSmuggleARequestIsRefused() {
    assertThatThrownBy(() -> HttpRequest.get("/a\r\nX: y"))
        .isInstanceOf(AgentException.InvalidSpec.class);
    assertThatThrownBy(() -> HttpRequest.get("/").with("X", "y\r\nZ: 1"))
        .isInstanceOf(AgentException.InvalidSpec.class);
  }

  @Test
  void addressesAreReadOrRefused() {
    assertThat(HttpAddress.parse("unix:///run/d.sock", java.util.Optional.empty()))
        .isEqualTo(new HttpAddress.Unix(Path.of("/run/d.sock")));
    assertThat(HttpAddress.parse("tcp://[::1]:2375", java.util.Optional.empty()))
        .isEqualTo(new HttpAddress.Tcp("::1", 2375));
    for (String odd : List.of("", "npipe://x", "tcp://host", "https://h:1", "::")) {
      assertThatThrownBy(() -> HttpAddress.parse(odd, java.util.Optional.empty()))
          .as(odd)
          .isInstanceOf(AgentException.InvalidSpec.class);
    }
  }

  private ScriptedServer keepAlive() throws IOException {
    return new ScriptedServer(
        directory,
        peer -> {
          while (peer.head() != null) {
            peer.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
          }
        });
  }

  private String answer(String raw) throws Exception {
    try (var server = ScriptedServer.saying(directory, raw);
        var client = HttpClient.open(server.address())) {
      return client.send(HttpRequest.get("/"), soon()).text(100);
    }
  }

  private static String readTo(ScriptedServer.Peer peer, String end) throws IOException {
    var text = new StringBuilder();
    while (!text.toString().endsWith(end)) {
      int b = peer.in().read();
      if (b < 0) {
        throw new IOException("ended after " + text);
      }
      text.append((char) b);
    }
    return text.toString();
  }

  private static Deadline soon() {
    return Deadline.after(Duration.ofSeconds(10));
  }
}
