package dev.zlayer.host.linux;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;

/** Network interfaces of the namespace in which the calling thread is. */
public final class Links {
  private static final Libc.Function SOCKET = Libc.bind("socket");
  private static final Libc.Function CLOSE = Libc.bind("close");
  private static final Libc.Function IOCTL = Libc.bind("ioctl");
  private static final Libc.Function INDEX = Libc.bind("if_nametoindex");

  private static final int AF_INET = 2;
  private static final int SOCK_DGRAM_CLOEXEC = 2 | 0x80000;

  private static final long SIOCGIFFLAGS = 0x8913;
  private static final long SIOCSIFFLAGS = 0x8914;
  private static final long SIOCGIFADDR = 0x8915;
  private static final long SIOCGIFHWADDR = 0x8927;
  private static final short IFF_UP = 1;
  private static final long IFREQ_BYTES = 40;
  private static final long IFREQ_FLAGS = 16;
  private static final long IFREQ_IP = 20; // behind family and port
  private static final long IFREQ_MAC = 18; // behind the family
  private static final int NAME_LIMIT = 15;

  private static final int ENODEV = 19;

  private Links() {}

  public static boolean exists(String name) {
    return index(name) != 0;
  }

  /** The names of all interfaces. */
  public static List<String> names() throws IOException {
    return Files.readAllLines(Path.of("/proc/thread-self/net/dev")).stream()
        .filter(line -> line.indexOf(':') > 0)
        .map(line -> line.substring(0, line.indexOf(':')).strip())
        .toList();
  }

  /**
   * The IPv6 addresses that interfaces which are up have on their links; ports of a bridge have
   * none of their own to be reached by.
   *
   * @param without begins the names of interfaces that are left out
   */
  public static List<InetAddress> linkLocalAddresses(String without) throws SocketException {
    return NetworkInterface.networkInterfaces()
        .filter(one -> !one.getName().startsWith(without))
        .filter(one -> !Files.exists(Path.of("/sys/class/net", one.getName(), "brport")))
        .flatMap(NetworkInterface::inetAddresses)
        .filter(address -> address instanceof Inet6Address && address.isLinkLocalAddress())
        .toList();
  }

  public static void up(String name) throws IOException {
    try (var call = Libc.call()) {
      int socket = socket(call);
      try {
        MemorySegment request = request(call, name);
        call.check(
            IOCTL.call(call, socket, SIOCGIFFLAGS, request.address()),
            "read the flags of interface " + name);
        short flags = request.get(ValueLayout.JAVA_SHORT, IFREQ_FLAGS);
        request.set(ValueLayout.JAVA_SHORT, IFREQ_FLAGS, (short) (flags | IFF_UP));
        call.check(
            IOCTL.call(call, socket, SIOCSIFFLAGS, request.address()),
            "bring up interface " + name);
      } finally {
        int _ = CLOSE.call(call, socket);
      }
    }
  }

  /** Deletes a virtual interface with its peer; does nothing when there is none. */
  public static void delete(String name) throws IOException {
    int index = index(name);
    if (index == 0) {
      return;
    }
    try (RouteSocket socket = RouteSocket.open()) {
      socket.send(
          RouteMessage.changing(RouteMessage.DELLINK).link(0, index, false),
          "delete interface " + name);
    } catch (ErrnoException e) {
      if (e.errno() != ENODEV) {
        throw e;
      }
    }
  }

  /** The hardware address of an interface that is up and has this address first; else empty. */
  public static Optional<String> mac(String name, InetAddress address) throws IOException {
    try (var call = Libc.call()) {
      int socket = socket(call);
      try {
        MemorySegment request = request(call, name);
        boolean up =
            IOCTL.call(call, socket, SIOCGIFFLAGS, request.address()) == 0
                && (request.get(ValueLayout.JAVA_SHORT, IFREQ_FLAGS) & IFF_UP) != 0;
        if (!up || IOCTL.call(call, socket, SIOCGIFADDR, request.address()) < 0) {
          return Optional.empty();
        }
        byte[] own = request.asSlice(IFREQ_IP, 4).toArray(ValueLayout.JAVA_BYTE);
        if (!Arrays.equals(own, address.getAddress())) {
          return Optional.empty();
        }
        call.check(
            IOCTL.call(call, socket, SIOCGIFHWADDR, request.address()),
            "read the hardware address of interface " + name);
        return Optional.of(
            HexFormat.ofDelimiter(":")
                .formatHex(request.asSlice(IFREQ_MAC, 6).toArray(ValueLayout.JAVA_BYTE)));
      } finally {
        int _ = CLOSE.call(call, socket);
      }
    }
  }

  private static MemorySegment request(Libc.Call call, String name) {
    MemorySegment request = call.allocate(IFREQ_BYTES);
    byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
    MemorySegment.copy(
        bytes, 0, request, ValueLayout.JAVA_BYTE, 0, Math.min(bytes.length, NAME_LIMIT));
    return request;
  }

  /**
   * Lets packets from and to 127.0.0.0/8 pass this interface, so that a published port answers on
   * the host's loopback address too. Whoever sets it has to filter what comes in from there.
   */
  public static void routeLoopback(String name) throws IOException {
    Path setting = Path.of("/proc/sys/net/ipv4/conf", name, "route_localnet");
    if (!Files.readString(setting).strip().equals("1")) {
      Files.writeString(setting, "1");
    }
  }

  /**
   * Lets interfaces that this network namespace gets from now on ignore IPv6 router advertisements
   * and redirects: a neighbour on the bridge could make itself their router.
   */
  static void refuseRouters() throws IOException {
    refuseRouters("default");
  }

  /** The same for one interface: a container on a bridge is no router of the host. */
  public static void refuseRouters(String name) throws IOException {
    for (String setting : List.of("accept_ra", "accept_redirects")) {
      Path file = Path.of("/proc/sys/net/ipv6/conf", name, setting);
      // a kernel without IPv6 has no such routers
      if (Files.exists(file) && !Files.readString(file).strip().equals("0")) {
        Files.writeString(file, "0");
      }
    }
  }

  /** Of an interface; 0 when there is none of that name. */
  static int index(String name) {
    try (var call = Libc.call()) {
      return INDEX.call(call, call.string(name).address());
    }
  }

  private static int socket(Libc.Call call) throws IOException {
    return call.check(SOCKET.call(call, AF_INET, SOCK_DGRAM_CLOEXEC, 0), "open a socket");
  }

  /** Whether the network of a process has a default route. */
  public static boolean connected(long pid) throws IOException {
    // a line is interface, destination, gateway, and more; no destination is the default
    return Files.readAllLines(Path.of("/proc", Long.toString(pid), "net/route")).stream()
        .skip(1)
        .map(line -> line.split("\\s+", -1))
        .anyMatch(words -> words.length > 2 && words[1].equals("00000000"));
  }
}
