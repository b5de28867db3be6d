package dev.zlayer.daemon.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.daemon.log.Log;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.http.HttpClient;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.task.Deadline;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The listener itself, with routes of the test's own. */
class HttpListenerTest {
  private static final String TOKEN = "0123456789abcdef0123456789abcdef";

  @TempDir private Path directory;
  private Path socket;
  private Path looking;
  private final Methods methods = new Methods();
  private HttpListener listener;
  private final CountDownLatch interrupted = new CountDownLatch(1);
  private final CountDownLatch begun = new CountDownLatch(1);
  private final CountDownLatch left = new CountDownLatch(1);
  private final CountDownLatch closed = new CountDownLatch(1);

  @Doc("A body.")
  public record Body(@Doc("A word.") String word) {}

  @BeforeEach
  void open() {
    socket = directory.resolve("d.sock");
    looking = directory.resolve("r.sock");
    listener = open(Optional.of(tcp()));
  }

  @Test
  @Timeout(30)
  void aSocketWhoseOwnerHangsIsNotWaitedFor() throws Exception {
    listener.close();
    var waiting = new ArrayList<SocketChannel>();
    try (var other = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      other.bind(UnixDomainSocketAddress.of(socket), 1);
      assertThatThrownBy(
              () -> {
                while (waiting.size() < 100) {
                  var channel = SocketChannel.open(StandardProtocolFamily.UNIX);
                  waiting.add(channel);
                  channel.configureBlocking(false);
                  boolean _ = channel.connect(UnixDomainSocketAddress.of(socket));
                }
              })
          .as("no room for another connection")
          .isInstanceOf(IOException.class);
      assertThatThrownBy(() -> open(Optional.empty()))
          .isInstanceOf(AgentException.Configuration.class)
          .hasMessageContaining("another program listens on " + socket);
    } finally {
      for (SocketChannel channel : waiting) {
        channel.close();
      }
    }
    Files.deleteIfExists(socket);
  }

  private static TcpListener tcp() {
    return new TcpListener(
        new InetSocketAddress("127.0.0.1", 0),
        Optional.empty(),
        false,
        Optional.of(TOKEN),
        List.of("agent.example"));
  }

  /** Keeps the methods that would become labels. */
  private static final class Methods implements HttpObserver {
    final Set<String> seen = ConcurrentHashMap.newKeySet();

    @Override
    public Timing begin() {
      return new Timing() {
        @Override
        public void end(String method, String template, int status) {
          seen.add(method);
        }

        @Override
        public void close() {}
      };
    }
  }

  private HttpListener open(Optional<TcpListener> tcp) {
    return HttpListener.open(
        List.of(
            new HttpListener.UnixSocket(socket, Optional.empty(), false),
            new HttpListener.UnixSocket(looking, Optional.empty(), true)),
        tcp,
        new Router(routes()),
        HttpListener.Access.NONE,
        methods,
        Log.silent());
  }

  private List<Route> routes() {
    return List.of(
        Route.view("/ping", "Ping.", _ -> ApiResponse.text(ApiRequest.TEXT, "OK")),
        Route.post(
            "/echo", "Echo.", call -> ApiResponse.json(Json.of(call.body(Body.class).word()))),
        Route.get("/things/special", "Literal.", _ -> ApiResponse.text(ApiRequest.TEXT, "special")),
        Route.get(
            "/things/{name}",
            "Variable.",
            call -> ApiResponse.text(ApiRequest.TEXT, call.path("name"))),
        Route.get(
            "/rest/{path*}",
            "The rest.",
            call -> ApiResponse.text(ApiRequest.TEXT, call.path("path"))),
        Route.get(
            "/fails",
            "Fails.",
            _ -> {
              throw new AgentException.StartFailed("c", "no", List.of("last words"));
            }),
        Route.get(
            "/broken",
            "Broken.",
            _ -> {
              throw new IllegalStateException("oops");
            }),
        Route.get(
            "/half",
            "Breaks half way.",
            _ ->
                new ApiResponse.Lines(
                    out -> {
                      out.line(Json.of("first"));
                      throw new AgentException.Network("the wire broke");
                    })),
        Route.get(
            "/torn",
            "Bytes that break off.",
            _ ->
                new ApiResponse.Bytes(
                    ApiRequest.TAR,
                    Map.of(),
                    out -> {
                      out.write(new byte[100]);
                      out.flush();
                      throw new AgentException.Network("the wire broke");
                    })),
        Route.get("/opened", "Bytes of what is open.", _ -> opened()),
        Route.get("/forever", "Waits.", _ -> new ApiResponse.Later(this::waiting)),
        Route.get(
            "/followed",
            "A stream that is made first.",
            _ ->
                new ApiResponse.Later(
                    () -> new ApiResponse.Bytes(ApiRequest.TAR, Map.of(), _ -> waiting()))));
  }

  @Test
  void methodsThatSomebodyMadeUpAreOneLabel() throws Exception {
    for (String method : List.of("GET", "PROPFIND", "XA", "XB")) {
      ObservedReplica _ = ask(new HttpAddress.Unix(socket), HttpRequest.of(method, "/api/v1/ping"));
    }
    Awaitility.await().until(() -> methods.seen.equals(Set.of("GET", "other")));
  }

  private ApiResponse opened() throws InterruptedException {
    begun.countDown();
    left.await();
    return new ApiResponse.Bytes(
        ApiRequest.TAR,
        Map.of(),
        ApiResponse.BytesWriter.closing(closed::countDown, out -> out.write(new byte[1 << 20])));
  }

  private ApiResponse waiting() throws InterruptedException {
    try {
      begun.countDown();
      new CountDownLatch(1).await();
      return ApiResponse.done();
    } catch (InterruptedException e) {
      interrupted.countDown();
      throw e;
    }
  }

  @AfterEach
  void close() {
    listener.close();
    assertThat(socket).doesNotExist();
  }

  private record ObservedReplica(int status, String type, String text) {
    Json json() {
      return JsonText.parse(text);
    }
  }

  private static ObservedReplica ask(HttpAddress address, HttpRequest request)
      throws InterruptedException {
    try (HttpClient client = HttpClient.open(address);
        HttpResponse response = client.send(request, Deadline.after(Duration.ofSeconds(20)))) {
      return new ObservedReplica(
          response.status(),
          response.headers().first("Content-Type").orElse(""),
          response.text(1 << 20));
    }
  }

  private ObservedReplica get(String path) throws InterruptedException {
    return ask(new HttpAddress.Unix(socket), HttpRequest.get(path));
  }

  @Test
  void theSocketIsForItsOwnerAndGroup() throws Exception {
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(socket)))
        .isEqualTo("rw-rw----");
  }

  @Test
  void routesAreFoundByWordsBeforeVariables() throws Exception {
    assertThat(get("/api/v1/things/special").text()).isEqualTo("special");
    assertThat(get("/api/v1/things/a%20b:c").text()).isEqualTo("a b:c");
    assertThat(get("/api/v1/rest/a/b/c").text()).isEqualTo("a/b/c");
    assertThat(get("/ping").text()).isEqualTo("OK");
    assertThat(get("/api/v1/none").status()).isEqualTo(404);
    assertThat(get("/things/special").status()).isEqualTo(404);
  }

  @Test
  void failuresBecomeProblems() throws Exception {
    ObservedReplica failed = get("/api/v1/fails");
    assertThat(failed.status()).isEqualTo(409);
    assertThat(failed.type()).isEqualTo("application/problem+json");
    assertThat(failed.json().at("last_lines").strings()).containsExactly("last words");
    assertThat(failed.json().at("blame").string()).contains("workload");
    assertThat(get("/api/v1/broken").json().at("kind").string()).contains("Internal");
    ObservedReplica wrong =
        ask(
            new HttpAddress.Unix(socket),
            HttpRequest.of("POST", "/api/v1/echo").withJson("{\"wort\":1}"));
    assertThat(wrong.status()).isEqualTo(422);
    assertThat(wrong.json().at("detail").string().orElseThrow())
        .contains("did you mean 'word'")
        .contains("word: is missing");
  }

  @Test
  void whatFailsAfterTheFirstLineIsTheLastLine() throws Exception {
    List<String> lines = get("/api/v1/half").text().lines().toList();
    assertThat(lines).hasSize(2);
    Json last = JsonText.parse(lines.getLast());
    assertThat(last.at("type").string()).contains("error");
    assertThat(last.at("kind").string()).contains("Network");
    assertThat(last.at("status").integer()).contains(502L);
  }

  @Test
  void bytesThatBreakOffAreNotTakenForAll() {
    assertThatThrownBy(() -> get("/api/v1/torn")).isInstanceOf(AgentException.Network.class);
  }

  @Test
  void whatIsOpenIsClosedWhenTheCallerHasLeftBeforeTheAnswer() throws Exception {
    try (var caller = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
      String request = "GET /api/v1/opened HTTP/1.1\r\nHost: localhost\r\n\r\n";
      caller.write(ByteBuffer.wrap(request.getBytes(StandardCharsets.US_ASCII)));
      assertThat(begun.await(10, TimeUnit.SECONDS)).isTrue();
    }
    left.countDown();
    assertThat(closed.await(10, TimeUnit.SECONDS)).isTrue();
  }

  private Thread waitingCaller() throws InterruptedException {
    return waitingCaller("/api/v1/forever");
  }

  private Thread waitingCaller(String path) throws InterruptedException {
    Runnable waits =
        () -> {
          try (HttpClient client = HttpClient.open(new HttpAddress.Unix(socket))) {
            client.send(HttpRequest.get(path), Deadline.none()).body().readAllBytes();
          } catch (InterruptedException | AgentException | IOException _) {
            // it leaves, or is left
          }
        };
    Thread caller = Thread.startVirtualThread(waits);
    assertThat(begun.await(10, TimeUnit.SECONDS)).isTrue();
    return caller;
  }

  @Test
  void aCallerWhoLeavesInterruptsTheWork() throws Exception {
    waitingCaller().interrupt();
    assertThat(interrupted.await(10, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void aCallerWhoLeavesInterruptsAStreamThatHadToBeMadeFirst() throws Exception {
    waitingCaller("/api/v1/followed").interrupt();
    assertThat(interrupted.await(10, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void closingInterruptsWorkThatDoesNotEnd() throws Exception {
    Thread _ = waitingCaller();
    listener.close();
    assertThat(interrupted.await(10, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void bodiesAndHeadersAreBounded() throws Exception {
    ObservedReplica large =
        ask(
            new HttpAddress.Unix(socket),
            HttpRequest.of("POST", "/api/v1/echo")
                .withBody(new HttpRequest.Body.Bytes(new byte[(1 << 20) + 1])));
    assertThat(large.status()).isEqualTo(413);
    ObservedReplica headers =
        ask(
            new HttpAddress.Unix(socket),
            HttpRequest.get("/ping").with("X-Long", "x".repeat(64 << 10)));
    assertThat(headers.status()).isEqualTo(431);
    assertThat(headers.type()).isEqualTo("application/problem+json");
  }

  @Test
  void theLogHoldsNeitherBodiesNorParametersNorCredentials() throws Exception {
    var written = new ByteArrayOutputStream();
    Path own = socket.resolveSibling("logged.sock");
    var log =
        new Log(
            new PrintStream(written, true, StandardCharsets.UTF_8),
            Log.Level.DEBUG,
            Log.Format.JSON,
            InstantSource.system());
    try (var _ =
        HttpListener.open(
            List.of(new HttpListener.UnixSocket(own, Optional.empty(), false)),
            Optional.empty(),
            new Router(routes()),
            HttpListener.Access.NONE,
            HttpObserver.NONE,
            log)) {
      for (HttpRequest request :
          List.of(
              HttpRequest.of("POST", "/api/v1/echo?secret=in-a-parameter")
                  .withJson("{\"word\":\"in-a-body\"}"),
              HttpRequest.of("POST", "/api/v1/echo").withJson("{\"in-a-body\":1}"),
              HttpRequest.get("/ping?in-a-parameter"))) {
        ObservedReplica _ =
            ask(
                new HttpAddress.Unix(own),
                request.with("Authorization", "Bearer in-a-header").with("Cookie", "in-a-header"));
      }
    }
    assertThat(written.toString(StandardCharsets.UTF_8))
        .contains("/api/v1/echo", "/ping", "request_id")
        .doesNotContain("in-a-parameter")
        .doesNotContain("in-a-body")
        .doesNotContain("in-a-header");
  }

  @Test
  void pagesOfBrowsersMayNotComeIn() throws Exception {
    ObservedReplica seen =
        ask(
            new HttpAddress.Unix(socket),
            HttpRequest.get("/ping").with("Origin", "http://evil.example"));
    assertThat(seen.status()).isEqualTo(403);
  }

  @Test
  void theDoorForLookingRefusesChanges() throws Exception {
    var address = new HttpAddress.Unix(looking);
    assertThat(ask(address, HttpRequest.get("/ping")).status()).isEqualTo(200);
    assertThat(
            ask(address, HttpRequest.of("POST", "/api/v1/echo").withJson("{\"word\":\"x\"}"))
                .status())
        .isEqualTo(403);
    assertThat(ask(address, HttpRequest.get("/api/v1/things/x")).status())
        .as("only what says so is offered")
        .isEqualTo(403);
  }

  @Test
  void tcpWantsTheTokenAndAKnownName() throws Exception {
    int port = Integer.parseInt(listener.address().orElseThrow().split(":")[1]);
    var address = new HttpAddress.Tcp("127.0.0.1", port);
    assertThat(ask(address, HttpRequest.get("/ping")).status()).isEqualTo(401);
    assertThat(ask(address, HttpRequest.get("/ping").with("Authorization", "Bearer x")).status())
        .isEqualTo(401);
    assertThat(
            ask(address, HttpRequest.get("/ping").with("Authorization", "Bearer " + TOKEN))
                .status())
        .isEqualTo(200);
    assertThat(statusFor(port, "evil.example")).isEqualTo("HTTP/1.1 403 Forbidden");
    assertThat(statusFor(port, "agent.example")).isEqualTo("HTTP/1.1 200 OK");
    assertThat(statusFor(port, "LOCALHOST:" + port)).isEqualTo("HTTP/1.1 200 OK");
  }

  /** As a caller does whom a name has led here. */
  private static String statusFor(int port, String host) throws IOException {
    try (var connection = new Socket("127.0.0.1", port)) {
      connection
          .getOutputStream()
          .write(
              "GET /ping HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n"
                  .formatted(host, TOKEN)
                  .getBytes(StandardCharsets.US_ASCII));
      var answer =
          new BufferedReader(
              new InputStreamReader(connection.getInputStream(), StandardCharsets.US_ASCII));
      return answer.readLine();
    }
  }

  @Test
  void aDoorWithoutALockIsNotMade() {
    assertThatThrownBy(
            () ->
                new TcpListener(
                    new InetSocketAddress("127.0.0.1", 0),
                    Optional.empty(),
                    false,
                    Optional.empty(),
                    List.of()))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void aSocketInUseIsNotTaken() {
    assertThatThrownBy(() -> open(Optional.empty()))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("another program listens");
    assertThat(socket).exists();
  }
}
