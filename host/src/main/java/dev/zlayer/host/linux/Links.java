package dev.zlayer.host.linux;

import static dev.zlayer.host.linux.Libc.INT;
import static dev.zlayer.host.linux.Libc.LONG;
import static dev.zlayer.host.linux.Libc.POINTER;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Network interfaces of the namespace in which the calling thread is. */
public final class Links {
  private static final MethodHandle SOCKET = Libc.bind("socket", INT, INT, INT, INT);
  private static final MethodHandle CLOSE = Libc.bind("close", INT, INT);
  private static final MethodHandle IOCTL = Libc.bindVariadic("ioctl", 2, INT, INT, LONG, POINTER);
  private static final MethodHandle INDEX = Libc.bind("if_nametoindex", INT, POINTER);
  private static final MethodHandle SEND = Libc.bind("send", LONG, INT, POINTER, LONG, INT);
  private static final MethodHandle RECV = Libc.bind("recv", LONG, INT, POINTER, LONG, INT);

  private static final int AF_INET = 2;
  private static final int AF_NETLINK = 16;
  private static final int SOCK_DGRAM = 2;
  private static final int SOCK_RAW = 3;
  private static final int SOCK_CLOEXEC = 0x80000;

  private static final long SIOCGIFFLAGS = 0x8913;
  private static final long SIOCSIFFLAGS = 0x8914;
  private static final short IFF_UP = 1;
  private static final long IFREQ_BYTES = 40;
  private static final long IFREQ_FLAGS = 16;
  private static final int NAME_LIMIT = 15;

  private static final short RTM_DELLINK = 17;
  private static final short NLM_F_REQUEST_ACK = 1 | 4;
  private static final int DELLINK_BYTES = 32; // header of 16, interface message of 16
  private static final int NETLINK_ERROR = 16; // where the answer carries the negated errno
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
      int socket = socket(call, AF_INET, SOCK_DGRAM);
      try {
        MemorySegment request = call.allocate(IFREQ_BYTES);
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        MemorySegment.copy(
            bytes, 0, request, ValueLayout.JAVA_BYTE, 0, Math.min(bytes.length, NAME_LIMIT));
        call.check(
            (int) IOCTL.invokeExact(call.errno(), socket, SIOCGIFFLAGS, request),
            "read the flags of interface " + name);
        short flags = request.get(ValueLayout.JAVA_SHORT, IFREQ_FLAGS);
        request.set(ValueLayout.JAVA_SHORT, IFREQ_FLAGS, (short) (flags | IFF_UP));
        call.check(
            (int) IOCTL.invokeExact(call.errno(), socket, SIOCSIFFLAGS, request),
            "bring up interface " + name);
      } finally {
        int _ = (int) CLOSE.invokeExact(call.errno(), socket);
      }
    } catch (IOException e) {
      throw e;
    } catch (Throwable e) {
      throw Libc.impossible(e);
    }
  }

  /** Deletes a virtual interface with its peer; does nothing when there is none. */
  public static void delete(String name) throws IOException {
    int index = index(name);
    if (index == 0) {
      return;
    }
    try (var call = Libc.call()) {
      int socket = socket(call, AF_NETLINK, SOCK_RAW);
      try {
        MemorySegment message = call.allocate(DELLINK_BYTES);
        message.set(ValueLayout.JAVA_INT, 0, DELLINK_BYTES);
        message.set(ValueLayout.JAVA_SHORT, 4, RTM_DELLINK);
        message.set(ValueLayout.JAVA_SHORT, 6, NLM_F_REQUEST_ACK);
        message.set(ValueLayout.JAVA_INT, 20, index);
        call.check(
            (long) SEND.invokeExact(call.errno(), socket, message, (long) DELLINK_BYTES, 0),
            "delete interface " + name);
        MemorySegment answer = call.allocate(1024);
        call.check(
            (long) RECV.invokeExact(call.errno(), socket, answer, 1024L, 0),
            "delete interface " + name);
        int error = -answer.get(ValueLayout.JAVA_INT, NETLINK_ERROR);
        if (error != 0 && error != ENODEV) {
          throw new ErrnoException("delete interface " + name, error);
        }
      } finally {
        int _ = (int) CLOSE.invokeExact(call.errno(), socket);
      }
    } catch (IOException e) {
      throw e;
    } catch (Throwable e) {
      throw Libc.impossible(e);
    }
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

  private static int index(String name) {
    try (var call = Libc.call()) {
      return (int) INDEX.invokeExact(call.errno(), call.string(name));
    } catch (Throwable e) {
      throw Libc.impossible(e);
    }
  }

  private static int socket(Libc.Call call, int family, int type) throws Throwable {
    return call.check(
        (int) SOCKET.invokeExact(call.errno(), family, type | SOCK_CLOEXEC, 0), "open a socket");
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
