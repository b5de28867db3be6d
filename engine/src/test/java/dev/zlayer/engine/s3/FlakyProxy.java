package dev.zlayer.engine.s3;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicInteger;

/** Between a client and a server; breaks or changes answers that are longer than most. */
final class FlakyProxy implements AutoCloseable {
  /** What happens to an answer after its first megabyte. */
  enum Fault {
    CUT,
    CHANGE
  }

  private static final int AFTER = 1 << 20;

  private final ServerSocket server;
  private final int target;
  private final Fault fault;
  private final AtomicInteger left;
  private final AtomicInteger faults = new AtomicInteger();

  FlakyProxy(int target, Fault fault, int times) throws IOException {
    this.server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    this.target = target;
    this.fault = fault;
    this.left = new AtomicInteger(times);
    Thread.startVirtualThread(this::accept);
  }

  String endpoint() {
    return "http://127.0.0.1:" + server.getLocalPort();
  }

  int faults() {
    return faults.get();
  }

  @Override
  public void close() throws IOException {
    server.close();
  }

  private void accept() {
    while (!server.isClosed()) {
      try {
        Socket client = server.accept();
        Socket there = new Socket(InetAddress.getLoopbackAddress(), target);
        Thread.startVirtualThread(() -> copy(client, there, false));
        Thread.startVirtualThread(() -> copy(there, client, true));
      } catch (IOException _) {
        // closed
      }
    }
  }

  private void copy(Socket from, Socket to, boolean answer) {
    try (from;
        to) {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      var bytes = new byte[16 << 10];
      long total = 0;
      for (int count = in.read(bytes); count >= 0; count = in.read(bytes)) {
        total += count;
        if (answer && total > AFTER && left.getAndDecrement() > 0) {
          faults.incrementAndGet();
          if (fault == Fault.CUT) {
            return;
          }
          bytes[0] ^= 1;
        }
        out.write(bytes, 0, count);
        out.flush();
      }
      if (!answer) {
        to.shutdownOutput();
      }
    } catch (IOException _) {
      // one side is gone
    }
  }
}
