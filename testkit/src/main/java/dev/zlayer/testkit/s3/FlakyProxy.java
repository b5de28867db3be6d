package dev.zlayer.testkit.s3;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicInteger;

/** Between a client and a server; does something to what is longer than most. */
public final class FlakyProxy implements AutoCloseable {
  /** What happens after the first megabyte. */
  public enum Fault {
    /** An answer ends. */
    CUT,
    /** An answer has another byte. */
    CHANGE,
    /** A request gets no further, and no answer. */
    HOLD,
    /** The connection breaks in the middle of a request. */
    BREAK;

    boolean ofRequests() {
      return this == HOLD || this == BREAK;
    }
  }

  private static final int AFTER = 1 << 20;

  private final ServerSocket server;
  private final int target;
  private final Fault fault;
  private final AtomicInteger left;
  private final AtomicInteger faults = new AtomicInteger();

  public FlakyProxy(int target, Fault fault, int times) throws IOException {
    this.server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    this.target = target;
    this.fault = fault;
    this.left = new AtomicInteger(times);
    Thread.startVirtualThread(this::accept);
  }

  public String endpoint() {
    return "http://127.0.0.1:" + server.getLocalPort();
  }

  public int faults() {
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
        if (answer != fault.ofRequests() && total > AFTER && left.getAndDecrement() > 0) {
          faults.incrementAndGet();
          switch (fault) {
            case CUT, BREAK -> {
              return;
            }
            case CHANGE -> bytes[0] ^= 1;
            case HOLD -> {
              in.transferTo(OutputStream.nullOutputStream()); // until the client goes
              return;
            }
          }
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
