package dev.zlayer.cli;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;

/**
 * Stands in for a daemon while the AOT cache is trained: answers as one would, so that the classes
 * of a whole exchange are used. Never runs otherwise.
 */
final class TrainingLoop implements AutoCloseable {
  private static final String CONTAINERS =
      """
      [{"id":"web-1","name":"shop/web/1","deployment":"shop","service":"web","image":"web:1",
        "state":"running","created":"2026-11-01T00:00:00Z","started":"2026-11-01T00:00:00Z",
        "restarts":0,"ports":[{"host_ip":"0.0.0.0","host_port":80,"container_port":80}]}]
      """;
  private static final Map<String, String> ANSWERS =
      Map.of(
          "/api/v1/containers",
          CONTAINERS,
          "/api/v1/containers/web-1/logs",
          "{\"time\":\"2026-11-01T00:00:00Z\",\"stream\":\"stdout\",\"text\":\"line\"}\n",
          "/api/v1/deployments",
          "[{\"name\":\"shop\",\"state\":\"running\",\"revision\":1,\"services\":[],\"jobs\":[]}]",
          "/api/v1/images",
          "[{\"digest\":\"sha256:0\",\"references\":[\"web:1\"],\"size\":1024}]",
          "/api/v1/containers/web-1/exec",
          "{\"stream\":\"stdout\",\"text\":\"out\"}\n{\"type\":\"exit\",\"code\":0}\n");

  private final ServerSocketChannel server;

  private TrainingLoop(ServerSocketChannel server) {
    this.server = server;
  }

  static TrainingLoop open(Path socket) throws IOException {
    ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    server.bind(UnixDomainSocketAddress.of(socket));
    var loop = new TrainingLoop(server);
    Thread.ofPlatform().daemon().name("training").start(loop::run);
    return loop;
  }

  private void run() {
    while (server.isOpen()) {
      try (SocketChannel caller = server.accept()) {
        answer(caller);
      } catch (ClosedChannelException _) {
        return; // the training is over
      } catch (IOException _) {
        // whoever was trained has gone; the next one follows
      }
    }
  }

  private static void answer(SocketChannel caller) throws IOException {
    ByteBuffer request = ByteBuffer.allocate(16 << 10);
    caller.read(request);
    String head = new String(request.array(), 0, request.position(), StandardCharsets.UTF_8);
    String path = head.split("[ ?]", 3)[1];
    byte[] body = ANSWERS.getOrDefault(path, "[]").getBytes(StandardCharsets.UTF_8);
    String answer =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
            + "Content-Length: %d\r\n\r\n".formatted(body.length);
    caller.write(ByteBuffer.wrap(answer.getBytes(StandardCharsets.UTF_8)));
    caller.write(ByteBuffer.wrap(body));
  }

  @Override
  public void close() throws IOException {
    server.close();
  }
}
