package dev.zlayer.proxy.ingress;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;

/** A socket of HAProxy that takes commands: one line there, its answer back. */
record HaproxySocket(Path path) {
  private static final Duration LIMIT = Duration.ofSeconds(5);
  private static final int BUFFER = 16 << 10;

  /** The answer to one line; several commands in it are separated by semicolons. */
  String ask(String line) throws IOException {
    Deadline deadline = Deadline.after(LIMIT);
    try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
        Selector selector = Selector.open()) {
      channel.connect(UnixDomainSocketAddress.of(path));
      channel.configureBlocking(false);
      SelectionKey key = channel.register(selector, SelectionKey.OP_WRITE);
      ByteBuffer request = ByteBuffer.wrap((line + "\n").getBytes(StandardCharsets.UTF_8));
      while (request.hasRemaining()) {
        await(selector, deadline);
        channel.write(request);
      }
      channel.shutdownOutput();
      key.interestOps(SelectionKey.OP_READ);
      var answer = new ByteArrayOutputStream();
      ByteBuffer buffer = ByteBuffer.allocate(BUFFER);
      while (channel.read(buffer) >= 0) {
        answer.write(buffer.array(), 0, buffer.position());
        if (buffer.position() == 0) {
          await(selector, deadline);
        }
        buffer.clear();
      }
      return answer.toString(StandardCharsets.UTF_8);
    }
  }

  private static void await(Selector selector, Deadline deadline) throws IOException {
    if (deadline.passed()) {
      throw new AgentException.Timeout("waiting for HAProxy", deadline.limit());
    }
    selector.select(Math.max(1, deadline.left().toMillis()));
    selector.selectedKeys().clear();
  }
}
