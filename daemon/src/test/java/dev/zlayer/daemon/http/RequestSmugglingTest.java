package dev.zlayer.daemon.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.daemon.log.Log;
import java.io.IOException;
import java.net.StandardProtocolFamily;
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
  private static final String HIDDEN = "GET /api/v1/hidden HTTP/1.1\r\nHost: x\r\n\r\n";

  @TempDir private Path directory;
  private final AtomicInteger hidden = new AtomicInteger();
  private HttpListener door;
  private Path socket;

  @BeforeEach
  void open() {
    socket = directory.resolve("d.sock");
    door =
        HttpListener.open(
            List.of(new HttpListener.UnixSocket(socket, Optional.empty(), false)),
            Optional.empty(),
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
    door.close();
  }

  @Test
  void aRequestWithTwoEndsIsRefusedAndItsRestIsNoRequest() throws Exception {
    String get = "GET /api/v1/ping HTTP/1.1\r\nHost: x\r\n";
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
            get + "X\0Y: a\r\n\r\n" + HIDDEN,
            "GET /api/v1/ping HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n" + HIDDEN,
            "GET /api/v1/ping HTTP/1.1 HTTP/1.1\r\nHost: x\r\n\r\n" + HIDDEN)) {
      String answer = ask(request);
      assertThat(answer).as(request).startsWith("HTTP/1.1 400 ").doesNotContain("seen");
      assertThat(hidden).as(request).hasValue(0);
    }
  }

  /** The answer to the first may be on its way before its body turns out to be none. */
  @Test
  void whatFollowsABrokenBodyIsNoRequest() throws Exception {
    for (String chunk : List.of("zz", "-1", "0x5", "5 ", "fffffffffffffffff", "1\n")) {
      String request =
          "GET /api/v1/ping HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
              + chunk
              + "\r\n\r\n"
              + HIDDEN;
      assertThat(ask(request)).as(chunk).doesNotContain("seen");
      assertThat(hidden).as(chunk).hasValue(0);
    }
  }

  @Test
  void twoPlainRequestsAreTwo() throws Exception {
    assertThat(
            ask(
                "GET /ping HTTP/1.1\r\nHost: x\r\n\r\n"
                    + HIDDEN.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")))
        .contains("seen");
  }

  /** Everything that comes back until the server closes. */
  private String ask(String request) throws Exception {
    try (var channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      channel.connect(UnixDomainSocketAddress.of(socket));
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
