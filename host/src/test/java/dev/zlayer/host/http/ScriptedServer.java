package dev.zlayer.host.http;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** A server on a unix socket that does to each connection what a test says. */
final class ScriptedServer implements AutoCloseable {
  /** One connection as the server sees it. */
  record Peer(SocketChannel channel, InputStream in, OutputStream out) {
    /** Reads a request's head; null at the end. */
    String head() throws IOException {
      var bytes = new ByteArrayOutputStream();
      while (!bytes.toString(StandardCharsets.ISO_8859_1).endsWith("\r\n\r\n")) {
        int b = in.read();
        if (b < 0) {
          return null;
        }
        bytes.write(b);
      }
      return bytes.toString(StandardCharsets.ISO_8859_1);
    }

    void say(String text) throws IOException {
      out.write(text.getBytes(StandardCharsets.ISO_8859_1));
    }
  }

  @FunctionalInterface
  interface Script {
    void play(Peer peer) throws IOException;
  }

  private final Path path;
  private final ServerSocketChannel server;
  private final List<SocketChannel> open = new CopyOnWriteArrayList<>();
  private final AtomicInteger accepted = new AtomicInteger();
  private final Thread thread;

  ScriptedServer(Path directory, Script script) throws IOException {
    path = directory.resolve("s");
    server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    server.bind(UnixDomainSocketAddress.of(path));
    thread = Thread.ofVirtual().start(() -> accept(script));
  }

  /** Reads a head, says this, and closes. */
  static ScriptedServer saying(Path directory, String answer) throws IOException {
    return new ScriptedServer(
        directory,
        peer -> {
          peer.head();
          peer.say(answer);
        });
  }

  HttpAddress address() {
    return new HttpAddress.Unix(path);
  }

  int accepted() {
    return accepted.get();
  }

  private void accept(Script script) {
    while (server.isOpen()) {
      try {
        SocketChannel channel = server.accept();
        accepted.incrementAndGet();
        open.add(channel);
        Thread.ofVirtual().start(() -> play(channel, script));
      } catch (IOException _) {
        return;
      }
    }
  }

  private static void play(SocketChannel channel, Script script) {
    try (channel) {
      script.play(
          new Peer(channel, Channels.newInputStream(channel), Channels.newOutputStream(channel)));
    } catch (IOException _) {
      // the client went away, or the test is over
    }
  }

  @Override
  public void close() throws IOException, InterruptedException {
    server.close();
    for (SocketChannel channel : open) {
      channel.close();
    }
    thread.join();
  }
}
