package dev.zlayer.cluster.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The gateway of the first of two members answers, and the member behind it has ended. */
class EndingMemberTest {
  private static final Json GOOD =
      JsonText.parse(
          "{\"header\":{\"revision\":\"7\"},\"succeeded\":true,\"result\":{\"TTL\":\"5\"}}");

  private final List<HttpServer> servers = new ArrayList<>();

  @AfterEach
  void stop() {
    servers.forEach(server -> server.stop(0));
  }

  @Test
  void whatTheMemberNeverGotIsAskedOfAnotherOne() throws Exception {
    try (EtcdStore store =
        store(
            "connection error: desc = \"transport: Error while dialing dial tcp 127.0.0.1:2379:"
                + " connect: connection refused\"")) {
      assertThat(store.put("key", "1", limit())).isEqualTo(7);
    }
  }

  @Test
  void aLeaseIsRenewedThroughAnotherOne() throws Exception {
    try (EtcdStore store =
        store(
            "connection error: desc = \"transport: Error while dialing: dial tcp 127.0.0.1:2379:"
                + " connect: connection refused\"")) {
      assertThat(store.keepAlive(1, limit())).isTrue();
    }
  }

  /** It may have been made; only reading is asked of another one. */
  @Test
  void aChangeThatItMayHaveGotIsNotMadeAgain() throws Exception {
    try (EtcdStore store = store("transport is closing")) {
      assertThatThrownBy(() -> store.put("key", "1", limit()))
          .isInstanceOf(AgentException.Network.class)
          .hasMessageContaining("whether the change was made is unknown");
    }
    for (String reason :
        List.of(
            "error reading from server: EOF",
            "transport is closing",
            "OK: HTTP status code 200; transport: missing content-type field")) {
      try (EtcdStore store = store(reason)) {
        assertThat(store.list("key", limit()).revision()).isEqualTo(7);
        assertThat(store.keepAlive(1, limit())).isTrue();
      }
    }
  }

  private EtcdStore store(String reason) throws IOException {
    Json refusal =
        Json.object().put("error", reason).put("code", 14).put("message", reason).build();
    return new EtcdStore(
        EtcdClient.open(
            new EtcdConfig(
                List.of(member(503, refusal), member(200, GOOD)),
                Optional.empty(),
                Optional.empty())));
  }

  private URI member(int status, Json body) throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 50);
    byte[] answer = JsonText.print(body).getBytes(StandardCharsets.UTF_8);
    server.createContext(
        "/",
        exchange -> {
          exchange.sendResponseHeaders(status, answer.length);
          exchange.getResponseBody().write(answer);
          exchange.close();
        });
    server.start();
    servers.add(server);
    return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
  }

  private static Deadline limit() {
    return Deadline.after(Duration.ofSeconds(20));
  }
}
