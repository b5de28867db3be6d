package dev.zlayer.host.net;

import dev.zlayer.task.Backoff;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Accepts connections at a port and copies them to the member that has the fewest, where the kernel
 * cannot forward them. One that cannot be reached is skipped. A side that was closed is closed on
 * the other side too, and a slow reader slows the writer. It ends with the agent.
 */
public final class Relay implements PortRelay {
  private static final System.Logger LOG = LazyLogger.of(Relay.class);
  private static final int CONNECT_MILLIS = 3_000;
  private static final int MOST_CONNECTIONS = 4_096;
  private static final int BUFFER = 32 * 1024;

  /** As many as the system allows: the kernel cuts it to {@code net.core.somaxconn}. */
  private static final int BACKLOG = Integer.MAX_VALUE;

  private static final Backoff ACCEPT_AGAIN =
      new Backoff(Duration.ofMillis(10), Duration.ofSeconds(1), 2.0);

  /** Takes the next connection; a test lets it fail. */
  @FunctionalInterface
  interface Acceptor {
    SocketChannel accept(ServerSocketChannel server) throws IOException;
  }

  private record Target(InetAddress address, AtomicInteger open) {}

  private final ServerSocketChannel server;
  private final Acceptor accepting;
  private final Pauses pauses;
  private final int targetPort;
  private final Semaphore room = new Semaphore(MOST_CONNECTIONS);
  private final Map<InetAddress, AtomicInteger> open = new ConcurrentHashMap<>();
  private final Set<SocketChannel> sockets = ConcurrentHashMap.newKeySet();
  private final AtomicLong accepted = new AtomicLong();
  private final Thread acceptor;
  private volatile List<Target> targets = List.of();

  private Relay(ServerSocketChannel server, int targetPort, Acceptor accepting, Pauses pauses) {
    this.server = server;
    this.accepting = accepting;
    this.pauses = pauses;
    this.targetPort = targetPort;
    this.acceptor = Thread.ofVirtual().name("relay-" + targetPort).start(this::accept);
  }

  public static Relay open(InetSocketAddress at, int targetPort) throws IOException {
    return open(at, targetPort, ServerSocketChannel::accept, Pauses.REAL);
  }

  static Relay open(InetSocketAddress at, int targetPort, Acceptor accepting, Pauses pauses)
      throws IOException {
    ServerSocketChannel server = ServerSocketChannel.open();
    try {
      server.setOption(StandardSocketOptions.SO_REUSEADDR, true);
      return new Relay(server.bind(at, BACKLOG), targetPort, accepting, pauses);
    } catch (IOException e) {
      server.close();
      throw e;
    }
  }

  /** The members that get new connections; others keep those they have. */
  @Override
  public void members(List<InetAddress> members) {
    targets =
        members.stream()
            .map(one -> new Target(one, open.computeIfAbsent(one, _ -> new AtomicInteger())))
            .toList();
  }

  /** How many connections a member has. */
  @Override
  public int connections(InetAddress member) {
    AtomicInteger count = open.get(member);
    return count == null ? 0 : count.get();
  }

  /** How many were ever taken. */
  long accepted() {
    return accepted.get();
  }

  int port() {
    return server.socket().getLocalPort();
  }

  /** Ends all connections. */
  @Override
  public void close() throws InterruptedException {
    quietly(server);
    sockets.forEach(Relay::quietly);
    acceptor.interrupt();
    acceptor.join();
    sockets.forEach(Relay::quietly);
  }

  private void accept() {
    try {
      int failures = 0;
      while (true) {
        room.acquire();
        SocketChannel client;
        try {
          client = accepting.accept(server);
        } catch (IOException e) {
          room.release();
          if (!server.isOpen()) {
            return;
          }
          retreat(failures++, e);
          continue;
        }
        if (failures > 0) {
          LOG.log(
              System.Logger.Level.INFO,
              "the relay on port {0} accepts connections again after {1} failures",
              Integer.toString(port()),
              failures);
          failures = 0;
        }
        sockets.add(client);
        accepted.incrementAndGet();
        Thread _ = Thread.ofVirtual().name("relay").start(() -> serve(client));
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt(); // closed
    }
  }

  /** Out of descriptors the kernel fails at once, over and over: reported once, then waited for. */
  private void retreat(int failures, IOException e) throws InterruptedException {
    if (failures == 0) {
      LOG.log(
          System.Logger.Level.WARNING,
          "the relay on port {0} cannot accept connections: {1}",
          Integer.toString(port()),
          e.getMessage());
    }
    pauses.pause(ACCEPT_AGAIN.delay(failures));
  }

  private void serve(SocketChannel client) {
    try (client) {
      List<Target> order =
          targets.stream().sorted(Comparator.comparingInt(one -> one.open().get())).toList();
      for (Target target : order) {
        target.open().incrementAndGet();
        try (SocketChannel member = SocketChannel.open()) {
          sockets.add(member);
          try {
            member
                .socket()
                .connect(new InetSocketAddress(target.address(), targetPort), CONNECT_MILLIS);
          } catch (IOException _) {
            continue; // the next one may be there
          } finally {
            if (!member.isConnected()) {
              sockets.remove(member);
            }
          }
          both(client, member);
          sockets.remove(member);
          return;
        } finally {
          target.open().decrementAndGet();
        }
      }
      refuse(client);
    } catch (IOException _) {
      // one side broke off: closing tells the other
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } finally {
      sockets.remove(client);
      room.release();
    }
  }

  /** With a reset, as a port refuses that nobody listens at. */
  private static void refuse(SocketChannel client) throws IOException {
    client.setOption(StandardSocketOptions.SO_LINGER, 0);
  }

  private static void both(SocketChannel client, SocketChannel member)
      throws IOException, InterruptedException {
    client.setOption(StandardSocketOptions.TCP_NODELAY, true);
    member.setOption(StandardSocketOptions.TCP_NODELAY, true);
    Thread back = Thread.ofVirtual().name("relay-back").start(() -> copyQuietly(member, client));
    try {
      copyQuietly(client, member);
    } finally {
      back.join();
    }
  }

  private static void copyQuietly(SocketChannel from, SocketChannel to) {
    try {
      copy(from, to);
    } catch (IOException _) {
      quietly(from);
      quietly(to);
    }
  }

  private static void copy(SocketChannel from, SocketChannel to) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(BUFFER);
    while (from.read(buffer) >= 0) {
      buffer.flip();
      while (buffer.hasRemaining()) {
        to.write(buffer);
      }
      buffer.clear();
    }
    to.shutdownOutput();
  }

  private static void quietly(java.io.Closeable one) {
    try {
      one.close();
    } catch (IOException _) {
      // nothing is left to be done with it
    }
  }
}
