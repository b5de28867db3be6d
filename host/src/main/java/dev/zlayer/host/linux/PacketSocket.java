package dev.zlayer.host.linux;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** A Unix socket that keeps the bounds of what was sent, which Java's channels do not offer. */
public final class PacketSocket {
  private static final int AF_UNIX = 1;
  private static final int SOCK_DGRAM = 2;
  private static final int SOCK_SEQPACKET = 5;
  private static final int SOCK_NONBLOCK = 0x800;
  private static final int SOCK_CLOEXEC = 0x80000;
  private static final int SHUT_WR = 1;
  private static final int SHUT_RDWR = 2;
  private static final int MAX_PATH = 107;
  private static final Libc.Function SOCKET = Libc.bind("socket");
  private static final Libc.Function CONNECT = Libc.bind("connect");
  private static final Libc.Function SHUTDOWN = Libc.bind("shutdown");

  private PacketSocket() {}

  public static OwnedDescriptor connect(Path path) throws IOException {
    return connect(path.toString(), SOCK_SEQPACKET);
  }

  /**
   * One message to a socket that takes single ones, such as a service manager's; a name that begins
   * with {@code @} is one without a file. Fails when the other end does not take it at once: it may
   * hang.
   */
  public static void send(String name, String message) throws IOException {
    try (var socket = connect(name, SOCK_DGRAM | SOCK_NONBLOCK)) {
      byte[] bytes = message.getBytes(StandardCharsets.UTF_8);
      if (socket.writeSome(bytes, 0, bytes.length) < bytes.length) {
        throw new IOException("nobody reads from " + name);
      }
    }
  }

  private static OwnedDescriptor connect(String path, int type) throws IOException {
    byte[] bytes = path.getBytes(StandardCharsets.UTF_8);
    if (bytes.length > MAX_PATH) {
      throw new IOException("the path of socket %s is over %d bytes".formatted(path, MAX_PATH));
    }
    boolean abstractName = path.startsWith("@");
    if (abstractName) {
      bytes[0] = 0;
    }
    try (var call = Libc.call()) {
      int fd = SOCKET.call(call, AF_UNIX, type | SOCK_CLOEXEC, 0);
      var socket = new OwnedDescriptor(call.check(fd, "make a socket"));
      try {
        MemorySegment address = call.allocate(Short.BYTES + MAX_PATH + 1L);
        address.set(ValueLayout.JAVA_SHORT, 0, (short) AF_UNIX);
        MemorySegment.copy(bytes, 0, address, ValueLayout.JAVA_BYTE, Short.BYTES, bytes.length);
        int length = abstractName ? Short.BYTES + bytes.length : (int) address.byteSize();
        call.check(CONNECT.call(call, fd, address.address(), length), "connect to " + path);
        return socket;
      } catch (IOException e) {
        socket.close();
        throw e;
      }
    }
  }

  /** Tells the other end that nothing more comes. */
  public static void endInput(OwnedDescriptor socket) throws IOException {
    shutdown(socket, SHUT_WR);
  }

  /** Ends both directions, which wakes a thread that reads. */
  public static void end(OwnedDescriptor socket) throws IOException {
    shutdown(socket, SHUT_RDWR);
  }

  private static void shutdown(OwnedDescriptor socket, int how) throws IOException {
    try (var using = socket.use();
        var call = Libc.call()) {
      call.check(SHUTDOWN.call(call, using.number(), how), "shut a socket");
    }
  }
}
