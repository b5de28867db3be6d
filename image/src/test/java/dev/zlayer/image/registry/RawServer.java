package dev.zlayer.image.registry;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/** Accepts connections, reads a little, does one thing and closes. */
final class RawServer implements AutoCloseable {
  @FunctionalInterface
  interface Reaction {
    void to(Socket socket) throws IOException;
  }

  private final ServerSocket server;
  private final Thread thread;

  RawServer(Reaction reaction) throws IOException {
    server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    thread = Thread.ofVirtual().start(() -> serve(reaction));
  }

  String host() {
    return "127.0.0.1:" + server.getLocalPort();
  }

  private void serve(Reaction reaction) {
    while (!server.isClosed()) {
      try (Socket socket = server.accept()) {
        socket.getInputStream().read(new byte[16]);
        reaction.to(socket);
      } catch (IOException _) {
        // the client went away, or the test is over
      }
    }
  }

  @Override
  public void close() throws IOException, InterruptedException {
    server.close();
    thread.join();
  }
}
