package dev.zlayer.cluster.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The first of two members is stopped: the kernel takes connections, and nobody answers. */
class FrozenMemberTest {
  private static final String ANSWER =
      "{\"header\":{\"revision\":\"7\"},\"succeeded\":true,\"result\":{\"TTL\":\"5\"}}";

  private ServerSocket frozen;
  private HttpServer alive;
  private EtcdStore store;

  @BeforeEach
  void start() throws IOException {
    frozen = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    alive = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 50);
    alive.createContext(
        "/",
        exchange -> {
          byte[] answer = ANSWER.getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(200, answer.length);
          exchange.getResponseBody().write(answer);
          exchange.close();
        });
    alive.start();
    store =
        new EtcdStore(
            EtcdClient.open(
                new EtcdConfig(
                    List.of(member(frozen.getLocalPort()), member(alive.getAddress().getPort())),
                    Optional.empty(),
                    Optional.empty())));
  }

  @AfterEach
  void stop() throws IOException {
    store.close();
    alive.stop(0);
    frozen.close();
  }

  private static URI member(int port) {
    return URI.create("http://127.0.0.1:" + port);
  }

  /** Nobody knows what became of the first change, so it is not made again; the next one is. */
  @Test
  void aChangeThatWasNotAnsweredSendsTheNextOneElsewhere() throws Exception {
    assertThatThrownBy(() -> store.put("key", "1", Deadline.after(Duration.ofMillis(200))))
        .isInstanceOf(AgentException.Timeout.class);
    assertThat(store.put("key", "2", Deadline.after(Duration.ofSeconds(20)))).isEqualTo(7);
  }

  /** A lease of five seconds is renewed every 1.5 s. */
  @Test
  void aLeaseIsRenewedThroughAnotherMemberBeforeItEnds() throws Exception {
    assertThat(store.keepAlive(1, Deadline.after(Duration.ofMillis(2_500)))).isTrue();
  }
}
