package dev.zlayer.host.linux;

import dev.zlayer.container.IpText;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A process that does nothing but have a listening socket open, and so outlives the agent with it.
 * Its environment says for whom, and which port, so it is recorded as soon as it exists.
 */
public final class PortKeeper {
  private static final Libc.Function SOCKET = Libc.bind("socket");
  private static final Libc.Function BIND = Libc.bind("bind");
  private static final Libc.Function LISTEN = Libc.bind("listen");
  private static final Libc.Function SET_OPTION = Libc.bind("setsockopt");

  private static final int AF_INET = 2;
  private static final int AF_INET6 = 10;
  private static final int SOCK_STREAM = 1;
  private static final int SOCK_DGRAM = 2;
  private static final int SOCK_CLOEXEC = 0x80000;
  private static final int SOL_SOCKET = 1;
  private static final int SO_REUSEADDR = 2;
  private static final int ADDRESS_BYTES = 16; // struct sockaddr_in
  private static final int ADDRESS6_BYTES = 28; // struct sockaddr_in6
  private static final int ADDRESS_AT = 4;
  private static final int ADDRESS6_AT = 8;

  private static final int KILL = 9;
  private static final Duration LIMIT = Duration.ofSeconds(5);
  private static final Duration STEP = Duration.ofMillis(5);
  private static final String OWNER = "ZLAYER_KEEPS_FOR=";
  private static final String PORT = "ZLAYER_KEEPS_PORT=";

  private PortKeeper() {}

  /** Whether this host can start any. */
  public static boolean possible() {
    return Spawn.known();
  }

  /** What a port is called among those of one owner. */
  public static String name(boolean datagrams, InetSocketAddress address) {
    return "%s/%s/%d"
        .formatted(datagrams ? "udp" : "tcp", IpText.of(address.getAddress()), address.getPort());
  }

  /**
   * Starts one.
   *
   * @throws ErrnoException somebody has the port
   */
  public static ProcessIdentity start(Path owner, boolean datagrams, InetSocketAddress address)
      throws IOException {
    try (OwnedDescriptor socket = socket(datagrams, address);
        OwnedDescriptor nothing = Descriptors.nothing()) {
      long pid =
          Spawn.start(
              // in a session of its own: a terminal that closes ends the others
              List.of("setsid", "sleep", "infinity"),
              List.of(
                  "PATH=/usr/local/bin:/usr/bin:/bin",
                  OWNER + owner,
                  PORT + name(datagrams, address)),
              Optional.of(Path.of("/")),
              List.of(socket, nothing, nothing));
      return ProcessIdentity.of(pid)
          .orElseThrow(() -> new IOException("the process that keeps a port has ended"));
    }
  }

  /**
   * Those of an owner, by the names of their ports. Containers choose the environment of their
   * processes, but not the namespaces in which the agent is.
   *
   * @param namespaces those of the agent, as {@link UserNamespaces#of} has them
   */
  public static Map<String, ProcessIdentity> find(Path owner, List<String> namespaces)
      throws IOException {
    var found = new HashMap<String, ProcessIdentity>();
    if (namespaces.isEmpty()) {
      return found;
    }
    try (Stream<Path> processes = Files.list(Path.of("/proc"))) {
      for (Path process : (Iterable<Path>) processes::iterator) {
        String name = process.getFileName().toString();
        if (name.matches("\\d+")) {
          long pid = Long.parseLong(name);
          Optional<ProcessIdentity> identity = ProcessIdentity.of(pid);
          if (identity.isPresent() && UserNamespaces.of(pid).equals(namespaces)) {
            port(process, owner).ifPresent(port -> found.put(port, identity.get()));
          }
        }
      }
    }
    return found;
  }

  /** Ends it, and returns when the port is free. */
  public static void end(ProcessIdentity keeper) throws IOException {
    boolean _ = keeper.signal(KILL);
    Deadline deadline = Deadline.after(LIMIT);
    // one that an earlier agent started is reaped by somebody else
    while (Spawn.exitCode(keeper.pid()).isEmpty() || keeper.alive()) {
      if (deadline.passed()) {
        throw new IOException("process %d does not end".formatted(keeper.pid()));
      }
      try {
        Pauses.REAL.pause(STEP);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IOException("interrupted", e);
      }
    }
  }

  private static Optional<String> port(Path process, Path owner) {
    try {
      List<String> environment =
          List.of(
              new String(
                      Files.readAllBytes(process.resolve("environ")), StandardCharsets.ISO_8859_1)
                  .split("\0", -1));
      String name =
          new String((OWNER + owner).getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
      return environment.contains(name)
          ? environment.stream()
              .filter(line -> line.startsWith(PORT))
              .map(line -> line.substring(PORT.length()))
              .findFirst()
          : Optional.empty();
    } catch (IOException _) {
      return Optional.empty(); // it ended, or is not ours
    }
  }

  private static OwnedDescriptor socket(boolean datagrams, InetSocketAddress address)
      throws IOException {
    boolean six = address.getAddress() instanceof Inet6Address;
    int type = (datagrams ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC;
    String what = name(datagrams, address);
    try (var call = Libc.call()) {
      int fd = SOCKET.call(call, six ? AF_INET6 : AF_INET, type, 0);
      var socket = new OwnedDescriptor(call.check(fd, "make a socket"));
      try {
        MemorySegment name = call.allocate(six ? ADDRESS6_BYTES : ADDRESS_BYTES);
        name.set(ValueLayout.JAVA_SHORT, 0, (short) (six ? AF_INET6 : AF_INET));
        name.set(ValueLayout.JAVA_BYTE, 2, (byte) (address.getPort() >> 8));
        name.set(ValueLayout.JAVA_BYTE, 3, (byte) address.getPort());
        byte[] ip = address.getAddress().getAddress();
        MemorySegment.copy(
            ip, 0, name, ValueLayout.JAVA_BYTE, six ? ADDRESS6_AT : ADDRESS_AT, ip.length);
        if (!datagrams) { // connections that have ended keep nobody from it
          MemorySegment on = call.allocate(Integer.BYTES);
          on.set(ValueLayout.JAVA_INT, 0, 1);
          call.check(
              SET_OPTION.call(call, fd, SOL_SOCKET, SO_REUSEADDR, on.address(), Integer.BYTES),
              "change a socket");
        }
        call.check(BIND.call(call, fd, name.address(), name.byteSize()), "bind " + what);
        if (!datagrams) {
          call.check(LISTEN.call(call, fd, 1), "listen on " + what);
        }
        return socket;
      } catch (Throwable e) {
        socket.close();
        throw e;
      }
    }
  }
}
