package dev.zlayer.host.net;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.AppArmor;
import dev.zlayer.host.linux.PortKeeper;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.host.linux.UserNamespaces;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Pauses;
import java.io.Closeable;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.channels.DatagramChannel;
import java.nio.channels.NetworkChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Ports of the host. Published packets never reach a socket; one that is bound to the port keeps
 * other programs from it. The agent of an ordinary user is in a network of its own: whatever
 * listens there, pasta binds on the host within a second, if it can. There a process of its own has
 * each socket, so that ports are bound also while no agent runs.
 */
public final class OutsidePorts {
  /** Names the process that connects the networks; only the agent of an ordinary user has it. */
  public static final String CONNECTED_BY = "ZLAYER_CONNECTED_BY";

  /** The first port of the host that an ordinary user may bind. */
  public static final String FIRST_PORT = "ZLAYER_FIRST_PORT";

  /** Where the kernel says it, below /proc/sys. */
  public static final String SETTING = "net/ipv4/ip_unprivileged_port_start";

  private static final String USUAL_FIRST_PORT = "1024";
  private static final String LISTENING = "0A";
  private static final Duration FOLLOWS = Duration.ofSeconds(5);
  private static final Duration STEP = Duration.ofMillis(50);

  /** So long services may take to have again what they had when an earlier agent ended. */
  private static final Duration UNCLAIMED = Duration.ofMinutes(1);

  private static final System.Logger LOG = LazyLogger.of(OutsidePorts.class);

  /** Set once, when an agent begins that is in a network of its own. */
  private static volatile Optional<OutsidePorts> current = Optional.empty();

  private final Path tables;
  private final int firstPort;
  private final Path run;
  private final Deadline unclaimedUntil = Deadline.after(UNCLAIMED);

  /** By the names of ports: those that this agent needs, and others that an earlier one left. */
  private final Map<String, Keeper> kept = new ConcurrentHashMap<>();

  private final Map<String, ProcessIdentity> unclaimed = new ConcurrentHashMap<>();

  private record Keeper(boolean datagrams, InetSocketAddress address, ProcessIdentity process) {}

  /** A port that no other program can have. */
  public interface Held extends Closeable {
    /** Nobody needs the port any more; an agent that ends closes it instead. */
    default void release() throws IOException {
      close();
    }
  }

  OutsidePorts(Path tables, int firstPort, Path run) {
    this.tables = tables;
    this.firstPort = firstPort;
    this.run = run;
  }

  /**
   * From now on ports are those of a host that another process connects this network with.
   *
   * @param connectedBy the value of {@link #CONNECTED_BY}
   * @param firstPort the value of {@link #FIRST_PORT}
   * @param run names the agent among others of this user
   */
  public static void connect(String connectedBy, Optional<String> firstPort, Path run) {
    var ports =
        new OutsidePorts(
            Path.of("/proc", connectedBy, "net"),
            Integer.parseInt(firstPort.orElse(USUAL_FIRST_PORT)),
            run);
    try {
      List<String> here = UserNamespaces.of(ProcessHandle.current().pid());
      ports.unclaimed.putAll(PortKeeper.find(run, here));
    } catch (IOException e) {
      LOG.log(System.Logger.Level.WARNING, "ports of an earlier agent cannot be found", e);
    }
    current = Optional.of(ports);
  }

  /** Restores what was killed; called again and again. */
  public static void supervise() {
    current.ifPresent(OutsidePorts::check);
  }

  /** Ends whatever keeps ports for an agent that is, or was, in these namespaces. */
  public static void end(Path run, List<String> namespaces) throws IOException {
    for (ProcessIdentity keeper : PortKeeper.find(run, namespaces).values()) {
      PortKeeper.end(keeper);
    }
  }

  /** Whether a process is one that keeps a port for this agent. */
  public static boolean keeps(long pid) {
    return current.stream()
        .flatMap(ports -> ports.kept.values().stream())
        .anyMatch(keeper -> keeper.process().pid() == pid);
  }

  /**
   * A socket that is bound to a port of the host; it takes no connections, unless it has to listen
   * so that the host has the port, too.
   *
   * @throws IOException somebody has the port
   */
  public static Held bind(
      boolean datagrams, StandardProtocolFamily family, InetSocketAddress address)
      throws IOException {
    Optional<OutsidePorts> outside = current;
    if (outside.isPresent() && address.getPort() != 0) {
      return outside.get().follow(datagrams, family, address);
    }
    NetworkChannel channel = datagrams ? DatagramChannel.open(family) : SocketChannel.open(family);
    try {
      channel.bind(address);
      return channel::close;
    } catch (IOException e) {
      channel.close();
      throw e;
    }
  }

  private Held follow(boolean datagrams, StandardProtocolFamily family, InetSocketAddress address)
      throws IOException {
    int port = address.getPort();
    if (port < firstPort) {
      throw new AgentException.Network(
          ("port %d: ordinary users may not bind ports below %d; publish a higher one, or"
                  + " 'sysctl -w net.ipv4.ip_unprivileged_port_start=%d'")
              .formatted(port, firstPort, port));
    }
    String name = PortKeeper.name(datagrams, address);
    ProcessIdentity former = unclaimed.remove(name);
    if (former != null && former.alive()) {
      kept.put(name, new Keeper(datagrams, address, former));
      return new Kept(name);
    }
    // one that was published a moment ago is still bound
    if (!await(datagrams, port, false)) {
      throw new BindException("port %d is in use on the host".formatted(port));
    }
    Held held = listen(name, datagrams, family, address);
    try {
      if (!await(datagrams, port, true)) {
        throw new AgentException.Network(
            "port %d was not bound on the host within %d s: %s"
                .formatted(
                    port,
                    FOLLOWS.toSeconds(),
                    AppArmor.pastaObstacle().orElse("see pasta.log in the run directory")));
      }
      return held;
    } catch (IOException | RuntimeException e) {
      held.release();
      throw e;
    }
  }

  private Held listen(
      String name, boolean datagrams, StandardProtocolFamily family, InetSocketAddress address)
      throws IOException {
    if (PortKeeper.possible()) {
      kept.put(name, new Keeper(datagrams, address, PortKeeper.start(run, datagrams, address)));
      return new Kept(name);
    }
    NetworkChannel channel =
        datagrams ? DatagramChannel.open(family) : ServerSocketChannel.open(family);
    try {
      if (channel instanceof ServerSocketChannel listening) {
        listening.bind(address, 1);
      } else {
        channel.bind(address);
      }
      return channel::close;
    } catch (IOException | RuntimeException e) {
      channel.close();
      throw e;
    }
  }

  /** Kept by a process that keeps running when the agent ends. */
  private final class Kept implements Held {
    private final String name;

    Kept(String name) {
      this.name = name;
    }

    @Override
    public void close() {
      // the next agent finds it
    }

    @Override
    public void release() throws IOException {
      Keeper keeper = kept.remove(name);
      if (keeper != null) {
        PortKeeper.end(keeper.process());
      }
    }
  }

  private void check() {
    for (String name : kept.keySet()) {
      kept.computeIfPresent(
          name, (_, keeper) -> keeper.process().alive() ? keeper : restored(name, keeper));
    }
    if (unclaimedUntil.passed()) {
      for (String name : List.copyOf(unclaimed.keySet())) {
        ProcessIdentity keeper = unclaimed.remove(name);
        if (keeper != null) {
          end(name, keeper);
        }
      }
    }
  }

  private Keeper restored(String name, Keeper keeper) {
    try {
      end(name, keeper.process());
      return new Keeper(
          keeper.datagrams(),
          keeper.address(),
          PortKeeper.start(run, keeper.datagrams(), keeper.address()));
    } catch (IOException e) {
      LOG.log(System.Logger.Level.WARNING, "port " + name + " cannot be bound again", e);
      return keeper;
    }
  }

  private static void end(String name, ProcessIdentity keeper) {
    try {
      PortKeeper.end(keeper);
    } catch (IOException e) {
      LOG.log(System.Logger.Level.WARNING, "port " + name + " is still bound", e);
    }
  }

  private boolean await(boolean datagrams, int port, boolean wanted) throws IOException {
    Deadline deadline = Deadline.after(FOLLOWS);
    while (bound(datagrams, port) != wanted) {
      if (deadline.passed()) {
        return false;
      }
      try {
        Pauses.REAL.pause(STEP);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IOException("interrupted", e);
      }
    }
    return true;
  }

  /** A line is number, local address, remote address, state, and more. */
  boolean bound(boolean datagrams, int port) throws IOException {
    String local = String.format(Locale.ROOT, ":%04X", port);
    String protocol = datagrams ? "udp" : "tcp";
    for (String table : List.of(protocol, protocol + "6")) {
      Path file = tables.resolve(table);
      if (!Files.exists(file)) {
        continue; // a kernel without this protocol
      }
      for (String line : Files.readAllLines(file)) {
        String[] words = line.strip().split("\\s+", -1);
        if (words.length > 3
            && words[1].endsWith(local)
            && (datagrams || words[3].equals(LISTENING))) {
          return true;
        }
      }
    }
    return false;
  }
}
