package dev.zlayer.host.linux;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.OptionalLong;

/** The rules of nftables in the network namespace of the calling thread, as the kernel has them. */
public final class RuleSet {
  private static final Libc.Function SOCKET = Libc.bind("socket");
  private static final Libc.Function CLOSE = Libc.bind("close");
  private static final Libc.Function SEND = Libc.bind("send");
  private static final Libc.Function RECV = Libc.bind("recv");

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
              SOCKET.call(call, AF_NETLINK, SOCK_RAW_CLOEXEC, NETLINK_NETFILTER), "open a socket");
      try {
        MemorySegment request = call.allocate(REQUEST_BYTES);
        request.set(ValueLayout.JAVA_INT, 0, REQUEST_BYTES);
        request.set(ValueLayout.JAVA_SHORT, TYPE, GETGEN);
        request.set(ValueLayout.JAVA_SHORT, 6, NLM_F_REQUEST);
        call.check(
            SEND.callLong(call, socket, request.address(), REQUEST_BYTES, 0),
            "ask for the generation of the rules");
        MemorySegment answer = call.allocate(ANSWER_BYTES);
        long length =
            call.check(
                RECV.callLong(call, socket, answer.address(), ANSWER_BYTES, 0),
                "read the generation of the rules");
        boolean known =
            length >= FIRST_ATTRIBUTE + 8
                && answer.get(ValueLayout.JAVA_SHORT, TYPE) == NEWGEN
                && answer.get(ValueLayout.JAVA_SHORT, FIRST_ATTRIBUTE + 2) == GEN_ID;
        return known
            ? OptionalLong.of(Integer.toUnsignedLong(answer.get(NETWORK_INT, FIRST_ATTRIBUTE + 4)))
            : OptionalLong.empty();
      } finally {
        int _ = CLOSE.call(call, socket);
      }
    }
  }
}
