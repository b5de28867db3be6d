package dev.zlayer.host.linux;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Sends requests about the interfaces of the network namespace that it was opened in. */
final class RouteSocket implements AutoCloseable {
  private static final Libc.Function SOCKET = Libc.bind("socket");
  private static final Libc.Function CLOSE = Libc.bind("close");
  private static final Libc.Function SEND = Libc.bind("send");
  private static final Libc.Function RECV = Libc.bind("recv");

  private static final int AF_NETLINK = 16;
  private static final int SOCK_RAW_CLOEXEC = 3 | 0x80000;
  private static final long ANSWER_BYTES = 4096;
  private static final long ERROR = 16; // where the answer carries the negated errno

  private final int socket;

  private RouteSocket(int socket) {
    this.socket = socket;
  }

  static RouteSocket open() throws IOException {
    try (var call = Libc.call()) {
      return new RouteSocket(
          call.check(SOCKET.call(call, AF_NETLINK, SOCK_RAW_CLOEXEC, 0), "open a socket"));
    }
  }

  /** Waits for the kernel's answer, which comes when all is done. */
  void send(RouteMessage message, String doing) throws IOException {
    try (var call = Libc.call()) {
      byte[] bytes = message.bytes();
      MemorySegment request = call.allocate(bytes.length);
      MemorySegment.copy(bytes, 0, request, ValueLayout.JAVA_BYTE, 0, bytes.length);
      call.check(SEND.callLong(call, socket, request.address(), bytes.length, 0), doing);
      MemorySegment answer = call.allocate(ANSWER_BYTES);
      call.check(RECV.callLong(call, socket, answer.address(), ANSWER_BYTES, 0), doing);
      int error = -answer.get(ValueLayout.JAVA_INT, ERROR);
      if (error != 0) {
        throw new ErrnoException(doing, error);
      }
    }
  }

  @Override
  public void close() {
    try (var call = Libc.call()) {
      int _ = CLOSE.call(call, socket);
    }
  }
}
