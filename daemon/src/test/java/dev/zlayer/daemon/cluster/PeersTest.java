package dev.zlayer.daemon.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import dev.zlayer.cluster.certificate.Authority;
import dev.zlayer.cluster.certificate.Pem;
import dev.zlayer.cluster.deploy.NodeShares.Peer;
import dev.zlayer.cluster.member.NodeIdentity;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpHeaders;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.http.TlsFiles;
import java.io.ByteArrayOutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Against a node of which the test decides what it answers. */
class PeersTest {
  /** Addresses of the loopback device that nothing else uses; nobody listens on the second. */
  private static final Peer THERE = new Peer("1", "there", "127.99.23.77");

  private static final Peer GONE = new Peer("2", "gone", "127.99.23.78");

  @TempDir static Path directory;
  private static final AtomicBoolean answering = new AtomicBoolean();
  private static final Semaphore asked = new Semaphore(0);
  private static HttpsServer server;
  private static SSLContext tls;

  @BeforeAll
  static void start() throws Exception {
    Authority authority = Authority.create("test", Instant.now());
    KeyPair keys = Authority.keys();
    InetAddress address = InetAddress.ofLiteral(THERE.address());
    Path own = directory.resolve("own.pem");
    Path trusted = directory.resolve("ca.crt");
    Files.writeString(
        own,
        Pem.of(authority.issue(keys.getPublic(), List.of(), List.of(address), Instant.now()))
            + Pem.of(keys.getPrivate()));
    Files.writeString(trusted, Pem.of(authority.certificate()));
    tls = new TlsFiles(Optional.of(trusted), Optional.of(new TlsFiles.Own(own, own))).context();
    server = HttpsServer.create(new InetSocketAddress(address, NodeIdentity.AGENT_PORT), 10);
    server.setHttpsConfigurator(new HttpsConfigurator(tls));
    answer("/found", 200, "[1]");
    answer("/absent", 404, "{\"detail\": \"no such thing\"}");
    answer("/full", 500, "{\"detail\": \"the disk is full, so & so\"}");
    answer("/unclear", 422, "{\"detail\": \"it means several\"}");
    answer("/foreign", 503, "<html>");
    answer("/lines", 200, "one\r\n\ntwo");
    answer("/endless", 200, "a\n" + "x".repeat(PeerLines.LONGEST + 1) + "\nb\n");
    var _ =
        server.createContext(
            Peers.BASE + "/ping",
            exchange -> {
              if (answering.get()) {
                exchange.sendResponseHeaders(204, -1);
              }
              asked.release();
              exchange.close(); // without an answer, the connection breaks
            });
    var _ =
        server.createContext(
            Peers.BASE + "/slow",
            exchange -> {
              asked.acquireUninterruptibly(2);
              exchange.sendResponseHeaders(200, 4);
              exchange.getResponseBody().write("slow".getBytes(StandardCharsets.UTF_8));
              exchange.close();
            });
    server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    server.start();
  }

  private static void answer(String path, int status, String body) {
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    var _ =
        server.createContext(
            Peers.BASE + path,
            exchange -> {
              exchange.getResponseHeaders().add("Content-Type", "application/problem+json");
              exchange.sendResponseHeaders(status, bytes.length);
              try (var out = exchange.getResponseBody()) {
                out.write(bytes);
              }
            });
  }

  @AfterAll
  static void stop() {
    server.stop(0);
  }

  private static Peers.Answers ask(String path) throws InterruptedException {
    return peers().getAll(List.of(THERE, GONE), path, Optional.empty());
  }

  @Test
  void oneThatCannotBeReachedDidNotAnswer() throws InterruptedException {
    Peers.Answers answers = ask("/found");

    assertThat(answers.found()).containsOnlyKeys(THERE);
    assertThat(answers.silent()).containsExactly("gone");
    assertThat(answers.headers()).containsEntry(Peers.Answers.HEADER, "gone").hasSize(1);
    assertThat(ask("/absent").doubt()).contains("these did not answer: gone");
  }

  @Test
  void anErrorIsAnAnswerAndIsNamed() throws InterruptedException {
    Peers.Answers answers = ask("/full");

    assertThat(answers.silent()).containsExactly("gone");
    assertThat(answers.doubt().orElseThrow())
        .isEqualTo(
            "these did not answer: gone; node 'there' answered with an error: the disk is full,"
                + " so & so");
    assertThat(answers.headers())
        .containsEntry(Peers.Answers.HEADER, "gone,there")
        .containsEntry(Peers.Answers.ERRORS, "there=the+disk+is+full%2C+so+%26+so");
    assertThat(answers.unclear()).isEmpty();
    assertThat(ask("/foreign").doubt().orElseThrow())
        .endsWith("node 'there' answered with an error: status 503");
  }

  @Test
  void aQuestionThatIsNotClearThereIsAnsweredWithWhatThatNodeSaid() throws InterruptedException {
    ApiResponse passed = ask("/unclear").unclear().orElseThrow();

    assertThat(passed)
        .isInstanceOfSatisfying(
            ApiResponse.Whole.class,
            whole -> {
              assertThat(whole.status()).isEqualTo(422);
              assertThat(new String(whole.body(), StandardCharsets.UTF_8))
                  .contains("it means several");
            });
  }

  @Test
  void whatAnAnswerSaysOfItselfIsPassedOn() {
    HttpHeaders headers =
        HttpHeaders.NONE
            .with("Connection", "close")
            .with("Content-Length", "3")
            .with("X-Request-Id", "of that node")
            .with("X-Total-Count", "7")
            .with("Zlayer-Gap", "true")
            .with("ETag", "\"3\"");
    assertThat(Peers.passedOn(headers))
        .isEqualTo(Map.of("X-Total-Count", "7", "Zlayer-Gap", "true", "ETag", "\"3\""));
  }

  @Test
  void anAnswerIsReadByLinesAndOneWithoutEndIsRefused() throws InterruptedException {
    try (PeerLines lines = open("/lines")) {
      assertThat(lines.next()).contains("one");
      assertThat(lines.next()).contains("");
      assertThat(lines.next()).contains("two");
      assertThat(lines.next()).isEmpty();
    }
    try (PeerLines lines = open("/endless")) {
      assertThat(lines.next()).contains("a");
      assertThatThrownBy(lines::next)
          .isInstanceOf(AgentException.Network.class)
          .hasMessageContaining("a line is longer than");
    }
  }

  private static PeerLines open(String path) throws InterruptedException {
    return peers().open(THERE, path, "text/plain", Optional.empty(), Duration.ofSeconds(10));
  }

  @Test
  void aRequestThatIsPassedOnTakesItsTimeWhileItsNodeAnswers() throws Exception {
    answering.set(true);
    // answered when the node was asked twice whether it is still there
    assertThat(peers().relay(THERE, HttpRequest.get(Peers.BASE + "/slow")))
        .isInstanceOfSatisfying(
            ApiResponse.Bytes.class,
            answer -> {
              var out = new ByteArrayOutputStream();
              assertThatNoException().isThrownBy(() -> answer.writer().write(out));
              assertThat(out.toString(StandardCharsets.UTF_8)).isEqualTo("slow");
            });
  }

  @Test
  void aRequestThatIsPassedOnEndsWhenItsNodeDoesNotAnswer() {
    answering.set(false);
    assertThatThrownBy(() -> peers().relay(THERE, HttpRequest.get(Peers.BASE + "/slow")))
        .isInstanceOf(AgentException.Network.class)
        .hasMessageContaining("node 'there' does not answer");
    asked.release(2);
  }

  private static Peers peers() {
    return new Peers(tls, new PeerPulse(Duration.ZERO), Duration.ofMillis(200));
  }
}
