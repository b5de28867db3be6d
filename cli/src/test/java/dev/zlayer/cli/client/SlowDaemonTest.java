package dev.zlayer.cli.client;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A daemon that is busy is not taken for one that is absent. */
class SlowDaemonTest {
  @TempDir Path directory;

  @Test
  void factsAreThoseOfTheDaemonAlsoWhenItIsTooBusyForAPing() throws Exception {
    var info = run("info");
    assertThat(info.err()).isEmpty();
    assertThat(info.out()).contains("of the daemon");
    assertThat(run("daemon", "status").out()).contains("0.of-the-daemon");
  }

  /** The same as with an agent that systemd is starting while it listens for it. */
  @Test
  void itIsGivenNoRival() throws Exception {
    var start = run("daemon", "start");
    assertThat(start.err()).contains("a daemon is already running");
    assertThat(start.code()).isZero();
    assertThat(directory.resolve("data")).doesNotExist();
  }

  /** An agent that is being started may take longer than nobody may listen. */
  @Test
  void followersWaitAsLongAsSomebodyListens() throws Exception {
    Path socket = directory.resolve("zlayer.sock");
    var asked = new AtomicInteger();
    var times = new AtomicInteger();
    var notices = new ArrayList<String>();
    try (var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(UnixDomainSocketAddress.of(socket));
      // two questions are left without an answer
      Thread thread =
          Thread.ofVirtual().start(() -> serve(server, _ -> asked.incrementAndGet() > 2));
      DaemonClient client = DaemonClient.open(DaemonAddress.local(socket));
      String result =
          new Reconnecting(client, Duration.ZERO, notices::add)
              .run(
                  () -> {
                    if (times.incrementAndGet() == 1) {
                      throw new ConnectionLost("cut off", new IOException());
                    }
                    return "continued";
                  });
      assertThat(result).isEqualTo("continued");
      assertThat(notices).hasSize(1);
      server.close();
      thread.join();
    }
  }

  private CliFixture.Result run(String... words) throws Exception {
    Path socket = directory.resolve("zlayer.sock");
    try (var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(UnixDomainSocketAddress.of(socket));
      // answers what asks for facts, and nothing else
      Thread thread =
          Thread.ofVirtual()
              .start(() -> serve(server, asked -> asked.startsWith("GET /api/v1/info ")));
      var result =
          new CliFixture(
                  directory,
                  Map.of(
                      "ZLAYER_SOCKET",
                      socket.toString(),
                      "ZLAYER_DATA_DIR",
                      directory.resolve("data").toString()))
              .run(words);
      server.close();
      thread.join();
      Files.delete(socket);
      return result;
    }
  }

  private static void serve(ServerSocketChannel server, Predicate<String> answered) {
    try {
      while (true) {
        SocketChannel client = server.accept();
        Thread.startVirtualThread(() -> answer(client, answered));
      }
    } catch (ClosedChannelException _) {
      // the test has ended
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static void answer(SocketChannel client, Predicate<String> answered) {
    var buffer = ByteBuffer.allocate(8192);
    try (client) {
      while (client.read(buffer) >= 0) {
        String asked = new String(buffer.array(), 0, buffer.position(), ISO_8859_1);
        if (asked.contains("\r\n\r\n") && answered.test(asked)) {
          String body =
              "{\"kernel\":\"of the daemon\",\"version\":\"0.of-the-daemon\",\"parts\":[]}";
          String head =
              "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
                  + body.length()
                  + "\r\n\r\n";
          client.write(ByteBuffer.wrap((head + body).getBytes(ISO_8859_1)));
          buffer.clear();
        }
      }
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
