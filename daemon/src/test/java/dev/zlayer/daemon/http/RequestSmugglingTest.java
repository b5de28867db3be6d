package dev.zlayer.daemon.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.daemon.log.Log;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Requests whose end is a matter of opinion. A server in front of the agent that reads them
 * otherwise would let the rest pass as a request of its own.
 */
class RequestSmugglingTest {
  private static final String TOKEN = "0123456789abcdef";

  /** On both listeners it would be served, if it were taken for a request. */
  private static final String CALLER = "Host: x\r\nAuthorization: Bearer " + TOKEN + "\r\n";

  private static final String HIDDEN = "GET /api/v1/hidden HTTP/1.1\r\n" + CALLER + "\r\n";

  @TempDir private Path directory;
  private final AtomicInteger hidden = new AtomicInteger();
  private HttpListener listener;
  private Path socket;

  @BeforeEach
  void open() {
    socket = directory.resolve("d.sock");
    listener =
        HttpListener.open(
            List.of(new HttpListener.UnixSocket(socket, Optional.empty(), false)),
            Optional.of(
                new TcpListener(
                    new InetSocketAddress("127.0.0.1", 0),
                    Optional.empty(),
                    false,
                    Optional.of(TOKEN),
                    List.of("x"))),
            new Router(
                List.of(
                    Route.get("/ping", "Ping.", _ -> ApiResponse.text(ApiRequest.TEXT, "OK")),
                    Route.get(
                        "/hidden",
                        "Hidden.",
                        _ -> {
                          hidden.incrementAndGet();
                          return ApiResponse.text(ApiRequest.TEXT, "seen");
                        }))),
            HttpListener.Access.NONE,
            HttpObserver.NONE,
            Log.silent());
  }

  @AfterEach
  void close() {
    listener.close();
  }

  @Test
  void aRequestWithTwoEndsIsRefusedAndItsRestIsNoRequest() throws Exception {
    String get = "GET /api/v1/ping HTTP/1.1\r\n" + CALLER;
    int length = HIDDEN.length();
    for (String request :
        List.of(
            get + "Content-Length: 0\r\nContent-Length: " + length + "\r\n\r\n" + HIDDEN,
            get
                + "Content-Length: "
                + length
                + "\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
                + HIDDEN,
            get
                + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n"
                + HIDDEN,
            get + "Transfer-Encoding: xchunked\r\n\r\n" + HIDDEN,
            get + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
            get + "Content-Length: +0\r\n\r\n" + HIDDEN,
            get + "Content-Length: -1\r\n\r\n" + HIDDEN,
            get + "Content-Length: 0, 0\r\n\r\n" + HIDDEN,
            get + "Content-Length: 0x0\r\n\r\n" + HIDDEN,
            get + "X: a\r\n Content-Length: 5\r\n\r\n" + HIDDEN,
            get + "X: a\r\n\tb\r\n\r\n" + HIDDEN,
            get + "X\0Y: a\r\n\r\n" + HIDDEN,
            get + "X: a\0b\r\n\r\n" + HIDDEN,
            get + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
            get + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + HIDDEN,
            get + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello" + HIDDEN,
            get.replace("\r\n", "\n") + "\n" + HIDDEN,
            get + "X: a\nContent-Length: " + length + "\r\n\r\n" + HIDDEN,
            get + "X: a\rContent-Length: " + length + "\r\n\r\n" + HIDDEN,
            get + "\n" + HIDDEN,
            "GET /api/v1/ping HTTP/1.1\r\nHost: y\r\n" + CALLER + "\r\n" + HIDDEN,
            "GET /api/v1/ping HTTP/1.1 HTTP/1.1\r\n" + CALLER + "\r\n" + HIDDEN)) {
      for (SocketAddress address : addresses()) {
        String answer = ask(address, request);
        assertThat(answer)
            .as("%s at %s", request, address)
            .startsWith("HTTP/1.1 400 ")
            .doesNotContain("seen");
        assertThat(hidden).as("%s at %s", request, address).hasValue(0);
      }
    }
  }

  /** The answer to the first may be on its way before its body turns out to be none. */
  @Test
  void whatFollowsABrokenBodyIsNoRequest() throws Exception {
    for (String chunk :
        List.of(
            "zz",
            "-1",
            "0x5",
            "5 ",
            "fffffffffffffffff",
            "1\n",
            "0;a\n\n", // an extension that a bare line feed ends
            "5;a=\"\n\r\nhello",
            "3\r\nabcdef", // more than it says
            "3\r\nabc\n0")) {
      String request =
          "GET /api/v1/ping HTTP/1.1\r\n"
              + CALLER
              + "Transfer-Encoding: chunked\r\n\r\n"
              + chunk
              + "\r\n\r\n"
              + HIDDEN;
      for (SocketAddress address : addresses()) {
        assertThat(ask(address, request)).as(chunk).doesNotContain("seen");
        assertThat(hidden).as(chunk).hasValue(0);
      }
    }
  }

  /** Such a connection ends with its answer, so that nothing can follow. */
  @Test
  void whatFollowsARequestOfTheOldProtocolIsNoRequest() throws Exception {
    String request =
        "GET /api/v1/ping HTTP/1.0\r\n"
            + CALLER
            + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            + HIDDEN;
    for (SocketAddress address : addresses()) {
      assertThat(ask(address, request)).doesNotContain("seen");
      assertThat(hidden).hasValue(0);
    }
  }

  /** An extension is legal and means nothing; what follows the body is the next request. */
  @Test
  void chunkExtensionsAreNoPartOfTheBody() throws Exception {
    String request =
        "GET /api/v1/ping HTTP/1.1\r\n"
            + CALLER
            + "Transfer-Encoding: chunked\r\n\r\n5;a=b;c=\"d\"\r\nhello\r\n0;e\r\n\r\n"
            + HIDDEN.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    int before = 0;
    for (SocketAddress address : addresses()) {
      assertThat(ask(address, request)).startsWith("HTTP/1.1 200 ").contains("seen");
      assertThat(hidden).hasValue(++before);
    }
  }

  @Test
  void twoPlainRequestsAreTwo() throws Exception {
    for (SocketAddress address : addresses()) {
      assertThat(
              ask(
                  address,
                  "GET /ping HTTP/1.1\r\n"
                      + CALLER
                      + "\r\n"
                      + HIDDEN.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")))
          .contains("seen");
    }
  }

  private List<SocketAddress> addresses() {
    int port = Integer.parseInt(listener.address().orElseThrow().replaceAll(".*:", ""));
    return List.of(UnixDomainSocketAddress.of(socket), new InetSocketAddress("127.0.0.1", port));
  }

  /** Everything that comes back until the server closes. */
  private static String ask(SocketAddress address, String request) throws Exception {
    try (var channel = SocketChannel.open(address)) {
      channel.write(ByteBuffer.wrap(request.getBytes(StandardCharsets.ISO_8859_1)));
      channel.shutdownOutput();
      return CompletableFuture.supplyAsync(() -> read(channel)).get(20, TimeUnit.SECONDS);
    }
  }

  private static String read(SocketChannel channel) {
    try {
      return new String(
          Channels.newInputStream(channel).readAllBytes(), StandardCharsets.ISO_8859_1);
    } catch (IOException _) {
      return ""; // closed hard
    }
  }
}
