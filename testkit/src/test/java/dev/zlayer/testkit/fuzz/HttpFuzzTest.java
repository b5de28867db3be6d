package dev.zlayer.testkit.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.http.HttpClient;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Answers of HTTP servers, damaged. */
class HttpFuzzTest {
  private static final List<String> WORDS =
      List.of(
          "\r\n",
          "\n",
          "\r",
          "\r\n\r\n",
          ": ",
          ":",
          " ",
          "\t",
          ";",
          ",",
          "0\r\n\r\n",
          "ffffffff\r\n",
          "7fffffffffffffff\r\n",
          "-1",
          "HTTP/1.1 100 Continue\r\n\r\n",
          "HTTP/1.1 200 OK\r\n",
          "HTTP/1.0 ",
          "HTTP/2 ",
          "Content-Length: 5\r\n",
          "Content-Length: 99999999999999999\r\n",
          "Transfer-Encoding: chunked\r\n",
          "Transfer-Encoding: gzip\r\n",
          "Connection: close\r\n",
          "\u00ff",
          "\u0000",
          "a: b \t c\r\n");

  @TempDir Path directory;

  @Test
  void answersAreReadOrRefused() throws Exception {
    Path path = directory.resolve("s");
    try (var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(UnixDomainSocketAddress.of(path));
      HttpAddress address = new HttpAddress.Unix(path);
      new Fuzzer(
              "fuzz/http",
              1500,
              List.of(
                  Fuzzer.utf8("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nA: b\r\n\r\nhello"),
                  Fuzzer.utf8("HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\nnothing"),
                  Fuzzer.utf8(
                      "HTTP/1.1 100 Continue\r\n\r\n"
                          + "HTTP/1.1 200 OK\r\n"
                          + "Transfer-Encoding: chunked\r\n\r\n"
                          + "5;a=b\r\n"
                          + "hello\r\n"
                          + "10\r\n"
                          + "0123456789abcdef\r\n"
                          + "0\r\n"
                          + "T: r\r\n\r\n")),
              WORDS,
              e -> e instanceof IOException || e instanceof AgentException,
              input -> exchange(server, address, input))
          .run();
    }
  }

  /** One connection for one answer, and nothing is left when it was read. */
  private static void exchange(ServerSocketChannel server, HttpAddress address, byte[] answer)
      throws Exception {
    Thread peer =
        Thread.ofVirtual()
            .start(
                () -> {
                  try (SocketChannel channel = server.accept()) {
                    ByteBuffer request = ByteBuffer.allocate(64 << 10);
                    int _ = channel.read(request);
                    ByteBuffer bytes = ByteBuffer.wrap(answer);
                    while (bytes.hasRemaining()) {
                      channel.write(bytes);
                    }
                  } catch (IOException _) {
                    // the client has heard enough
                  }
                });
    try (HttpClient client = HttpClient.open(address);
        HttpResponse response =
            client.send(HttpRequest.get("/"), Deadline.after(Duration.ofSeconds(20)))) {
      assertThat(response.body().readAllBytes().length).isLessThanOrEqualTo(answer.length);
    } finally {
      peer.join();
    }
  }
}
