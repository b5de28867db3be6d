package dev.zlayer.runtime.docker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What engines say that no test can start here, told by a stand-in over TCP. */
class DockerRuntimeTest {
  private HttpServer server;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.start();
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  @Test
  void anEngineForWindowsServesWindowsImages() throws Exception {
    says("/version", 200, "{\"Os\":\"windows\",\"Arch\":\"amd64\"}");
    try (DockerRuntime runtime = open()) {
      assertThat(runtime.capabilities().serves(Platform.of("windows", "amd64"))).isTrue();
      assertThat(runtime.capabilities().serves(Platform.of("linux", "amd64"))).isFalse();
    }
  }

  @Test
  void whatTheEngineWouldLeaveOutIsRefusedAndUndone() throws Exception {
    says("/version", 200, "{\"Os\":\"linux\",\"Arch\":\"amd64\"}");
    says(
        "/images/",
        200,
        "{\"Id\":\"sha256:%s\",\"Os\":\"linux\",\"Architecture\":\"amd64\"}"
            .formatted("a".repeat(64)));
    says(
        "/containers/create",
        201,
        "{\"Id\":\"abc\",\"Warnings\":[\"Your kernel does not support it. Limit discarded.\"]}");
    says("/containers/abc/json", 200, "{\"State\":{\"Status\":\"created\",\"Error\":\"\"}}");
    var removed = new java.util.concurrent.atomic.AtomicBoolean();
    server.createContext(
        "/containers/abc",
        exchange -> {
          removed.set(exchange.getRequestMethod().equals("DELETE"));
          exchange.sendResponseHeaders(204, -1);
          exchange.close();
        });
    try (DockerRuntime runtime = open()) {
      assertThatThrownBy(
              () ->
                  runtime.create(
                      ContainerId.of("d", "s", 1), ContainerSpec.of(ImageRef.parse("app:1"))))
          .isInstanceOf(AgentException.Unsupported.class)
          .hasMessageContaining("Limit discarded");
    }
    assertThat(removed).isTrue();
  }

  @Test
  void anEngineThatFailsIsNotTakenForAnEmptyOne() throws Exception {
    says("/version", 200, "{\"Os\":\"linux\",\"Arch\":\"amd64\"}");
    says("/containers/json", 500, "{\"message\":\"the database is broken\"}");
    try (DockerRuntime runtime = open()) {
      assertThatThrownBy(runtime::list)
          .isInstanceOf(AgentException.class)
          .hasMessageContaining("the database is broken");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "1.41, 1.12, /v1.41",
    "1.40, 1.12, /v1.40",
    "1.51, 1.24, /v1.41",
    "1.52, 1.44, /v1.44"
  })
  void theEngineIsSpokenToInAVersionThatItStillSpeaks(String newest, String oldest, String prefix)
      throws Exception {
    versions(newest, oldest);
    says(prefix + "/containers/json", 200, "[]");
    try (DockerRuntime runtime = open()) {
      assertThat(runtime.list()).isEmpty();
    }
  }

  @ParameterizedTest
  @CsvSource({"1.39, 1.12", "1.70, 1.60", "2.0, 2.0"})
  void anEngineThatSpeaksNoVersionOfOursIsRefused(String newest, String oldest) {
    versions(newest, oldest);
    assertThatThrownBy(this::open)
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining(newest);
  }

  private void versions(String newest, String oldest) {
    says(
        "/version",
        200,
        "{\"Os\":\"linux\",\"Arch\":\"amd64\",\"ApiVersion\":\"%s\",\"MinAPIVersion\":\"%s\"}"
            .formatted(newest, oldest));
  }

  /** Neither an end nor an emptiness: nobody knows how it stands. */
  @Test
  void aConnectionThatBreaksOffIsTold() throws Exception {
    says("/version", 200, "{\"Os\":\"linux\",\"Arch\":\"amd64\"}");
    says(
        "/images/",
        200,
        "{\"Id\":\"sha256:%s\",\"Os\":\"linux\",\"Architecture\":\"amd64\"}"
            .formatted("a".repeat(64)));
    says("/containers/create", 201, "{\"Id\":\"abc\"}");
    says(
        "/containers/abc/json",
        200,
        "{\"State\":{\"Status\":\"running\",\"Error\":\"\",\"StartedAt\":\"2026-01-02T03:04:05Z\"}}");
    breaksOff("/containers/abc/wait", "{\"Status");
    breaksOff(
        "/containers/abc/logs",
        "\1\0\0\0\0\0\0\u0021" + "2026-01-02T03:04:05.000000000Z x\n" + "\1\0");
    try (DockerRuntime runtime = open()) {
      var container =
          runtime.create(ContainerId.of("d", "s", 1), ContainerSpec.of(ImageRef.parse("app:1")));
      assertThatThrownBy(
              () ->
                  container.await(
                      WaitCondition.NOT_RUNNING, Deadline.after(Duration.ofSeconds(30))))
          .isInstanceOf(AgentException.Network.class);
      try (var reader = container.logs(LogQuery.ALL.following())) {
        assertThatThrownBy(
                () -> {
                  while (reader.next().isPresent()) {
                    // up to where it breaks
                  }
                })
            .isInstanceOf(AgentException.Network.class);
      }
    }
  }

  private void breaksOff(String path, String begin) {
    server.createContext(
        path,
        exchange -> {
          exchange.getResponseHeaders().add("Content-Type", "application/json");
          exchange.sendResponseHeaders(200, 0);
          exchange.getResponseBody().write(begin.getBytes(StandardCharsets.ISO_8859_1));
          exchange.getResponseBody().flush();
          throw new IOException("the engine dies");
        });
  }

  private DockerRuntime open() throws InterruptedException {
    return DockerRuntime.open(
        DockerSettings.of(new HttpAddress.Tcp("127.0.0.1", server.getAddress().getPort()), "test"));
  }

  private void says(String path, int status, String json) {
    server.createContext(
        path,
        exchange -> {
          byte[] body = json.getBytes(StandardCharsets.UTF_8);
          exchange.getResponseHeaders().add("Content-Type", "application/json");
          exchange.sendResponseHeaders(status, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
  }
}
