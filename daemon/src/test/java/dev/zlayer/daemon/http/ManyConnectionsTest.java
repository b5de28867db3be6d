package dev.zlayer.daemon.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.daemon.log.Log;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How many may connect to the listener at once. */
class ManyConnectionsTest {
  private static final String TOKEN = "0123456789abcdef0123456789abcdef";

  @TempDir private Path directory;
  private Path socket;
  private HttpListener listener;

  @BeforeEach
  void open() {
    socket = directory.resolve("s");
    listener =
        HttpListener.open(
            List.of(new HttpListener.UnixSocket(socket, Optional.empty(), false)),
            Optional.of(
                new TcpListener(
                    new InetSocketAddress("127.0.0.1", 0),
                    Optional.empty(),
                    false,
                    Optional.of(TOKEN),
                    List.of())),
            new Router(
                List.of(
                    Route.view("/ping", "Ping.", _ -> ApiResponse.text(ApiRequest.TEXT, "OK")))),
            HttpListener.Access.NONE,
            HttpObserver.NONE,
            Log.silent());
  }

  @AfterEach
  void close() {
    listener.close();
  }

  /** The kernel shows the limit of a listening socket in the column of what waits to be sent. */
  @Test
  void asManyConnectAtOnceAsTheSystemAllows() throws Exception {
    String address = listener.address().orElseThrow();
    String port = address.substring(address.lastIndexOf(':') + 1);
    for (List<String> listening :
        List.of(
            List.of("ss", "-Hltn", "sport", "=", ":" + port),
            List.of("ss", "-Hlx", "src", socket.toString()))) {
      String line =
          Processes.run(Command.of(listening), Deadline.after(Duration.ofSeconds(20)))
              .stdout()
              .strip();
      int queue = listening.contains("-Hlx") ? 3 : 2;
      assertThat(line.split("\\s+")[queue])
          .as(line)
          .isEqualTo(Files.readAllLines(Path.of("/proc/sys/net/core/somaxconn")).getFirst());
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void fiveHundredConnectAtOnceAndAllAreAnswered(boolean tcp) throws Exception {
    String address = listener.address().orElseThrow();
    SocketAddress at =
        tcp
            ? new InetSocketAddress(
                "127.0.0.1", Integer.parseInt(address.substring(address.lastIndexOf(':') + 1)))
            : UnixDomainSocketAddress.of(socket);
    byte[] request =
        "GET /api/v1/ping HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n"
            .formatted(TOKEN)
            .getBytes(StandardCharsets.US_ASCII);
    var clients = new ArrayList<SocketChannel>();
    try {
      // none is given up before all are connected
      for (int i = 0; i < 500; i++) {
        clients.add(SocketChannel.open(at));
      }
      for (SocketChannel client : clients) {
        client.write(ByteBuffer.wrap(request));
      }
      for (SocketChannel client : clients) {
        ByteBuffer answer = ByteBuffer.allocate(64);
        while (answer.position() < 12 && client.read(answer) >= 0) {
          // the status line comes first
        }
        assertThat(new String(answer.array(), 0, answer.position(), StandardCharsets.US_ASCII))
            .startsWith("HTTP/1.1 200");
      }
    } finally {
      for (SocketChannel client : clients) {
        client.close();
      }
    }
  }
}
