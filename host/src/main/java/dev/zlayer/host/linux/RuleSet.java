package dev.zlayer.host.linux;

import static dev.zlayer.host.linux.Libc.INT;
import static dev.zlayer.host.linux.Libc.LONG;
import static dev.zlayer.host.linux.Libc.POINTER;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.ByteOrder;
import java.util.OptionalLong;

/** The rules of nftables in the network namespace of the calling thread, as the kernel has them. */
public final class RuleSet {
  private static final MethodHandle SOCKET = Libc.bind("socket", INT, INT, INT, INT);
  private static final MethodHandle CLOSE = Libc.bind("close", INT, INT);
  private static final MethodHandle SEND = Libc.bind("send", LONG, INT, POINTER, LONG, INT);
  private static final MethodHandle RECV = Libc.bind("recv", LONG, INT, POINTER, LONG, INT);

  private static final int AF_NETLINK = 16;
  private static final int SOCK_RAW_CLOEXEC = 3 | 0x80000;
  private static final int NETLINK_NETFILTER = 12;
  private static final short NEWGEN = 10 << 8 | 15; // subsystem nf_tables
  private static final short GETGEN = 10 << 8 | 16;
  private static final short NLM_F_REQUEST = 1;
  private static final int REQUEST_BYTES = 20; // header of 16, netfilter message of 4
  private static final long ANSWER_BYTES = 4096;
  private static final long TYPE = 4;
  private static final long FIRST_ATTRIBUTE = 20; // length of 2, type of 2, then the number
  private static final short GEN_ID = 1;
  private static final ValueLayout.OfInt NETWORK_INT =
      ValueLayout.JAVA_INT.withOrder(ByteOrder.BIG_ENDIAN);

  private RuleSet() {}

  /** A number that every change by anybody changes; empty when this kernel does not say. */
  public static OptionalLong generation() throws IOException {
    try (var call = Libc.call()) {
      int socket =
          call.check(
              (int)
                  SOCKET.invokeExact(call.errno(), AF_NETLINK, SOCK_RAW_CLOEXEC, NETLINK_NETFILTER),
              "open a socket");
      try {
        MemorySegment request = call.allocate(REQUEST_BYTES);
        request.set(ValueLayout.JAVA_INT, 0, REQUEST_BYTES);
        request.set(ValueLayout.JAVA_SHORT, TYPE, GETGEN);
        request.set(ValueLayout.JAVA_SHORT, 6, NLM_F_REQUEST);
        call.check(
            (long) SEND.invokeExact(call.errno(), socket, request, (long) REQUEST_BYTES, 0),
            "ask for the generation of the rules");
        MemorySegment answer = call.allocate(ANSWER_BYTES);
        long length =
            call.check(
                (long) RECV.invokeExact(call.errno(), socket, answer, ANSWER_BYTES, 0),
                "read the generation of the rules");
        boolean known =
            length >= FIRST_ATTRIBUTE + 8
                && answer.get(ValueLayout.JAVA_SHORT, TYPE) == NEWGEN
                && answer.get(ValueLayout.JAVA_SHORT, FIRST_ATTRIBUTE + 2) == GEN_ID;
        return known
            ? OptionalLong.of(Integer.toUnsignedLong(answer.get(NETWORK_INT, FIRST_ATTRIBUTE + 4)))
            : OptionalLong.empty();
      } finally {
        int _ = (int) CLOSE.invokeExact(call.errno(), socket);
      }
    } catch (IOException e) {
      throw e;
    } catch (Throwable e) {
      throw Libc.impossible(e);
    }
  }
}
