package dev.zlayer.host.net;

import dev.zlayer.task.Backoff;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Copies datagrams from a port to a member and what it answers back, where the kernel cannot
 * forward them. A client keeps its member until both have been silent for a while. It ends with the
 * agent. Empty ones are lost: Java sends none on a socket that is connected.
 */
public final class DatagramRelay implements PortRelay {
  private static final int LARGEST = 65_535;
  private static final int MOST_CLIENTS = 1_024;
  private static final Duration SILENCE = Duration.ofSeconds(60);
  private static final Backoff RECEIVE_AGAIN =
      new Backoff(Duration.ofMillis(10), Duration.ofSeconds(1), 2.0);

  /** One client and the member that answers it. */
  private final class Exchange {
    final SocketAddress client;
    final InetAddress member;
    final DatagramChannel channel;
    volatile boolean used = true;

    Exchange(SocketAddress client, InetAddress member) throws IOException {
      this.client = client;
      this.member = member;
      this.channel = DatagramChannel.open();
      try {
        channel.connect(new InetSocketAddress(member, targetPort));
        channel.socket().setSoTimeout(Math.toIntExact(SILENCE.toMillis()));
      } catch (IOException e) {
        channel.close();
        throw e;
      }
    }

    void copyAnswers() {
      var packet = new DatagramPacket(new byte[LARGEST], LARGEST);
      try (channel) {
        while (true) {
          try {
            packet.setLength(LARGEST);
            channel.socket().receive(packet);
            used = true;
            server.send(ByteBuffer.wrap(packet.getData(), 0, packet.getLength()), client);
          } catch (SocketTimeoutException _) {
            if (!used) {
              return;
            }
            used = false;
          }
        }
      } catch (IOException _) {
        // closed, or the member refuses datagrams: the next one begins anew
      } finally {
        exchanges.remove(client, this);
      }
    }
  }

  private final DatagramChannel server;
  private final int targetPort;
  private final Map<SocketAddress, Exchange> exchanges = new ConcurrentHashMap<>();
  private final Thread receiver;
  private volatile List<InetAddress> targets = List.of();
  private int turn; // of the receiver alone

  private DatagramRelay(DatagramChannel server, int targetPort) {
    this.server = server;
    this.targetPort = targetPort;
    this.receiver = Thread.ofVirtual().name("datagrams-" + targetPort).start(this::receive);
  }

  public static DatagramRelay open(InetSocketAddress at, int targetPort) throws IOException {
    DatagramChannel server = DatagramChannel.open();
    try {
      return new DatagramRelay(server.bind(at), targetPort);
    } catch (IOException e) {
      server.close();
      throw e;
    }
  }

  /** Whoever was answered by a member that is not among them gets another one at once. */
  @Override
  public void members(List<InetAddress> members) {
    targets = List.copyOf(members);
    exchanges.values().stream()
        .filter(exchange -> !members.contains(exchange.member))
        .forEach(this::end);
  }

  @Override
  public int connections(InetAddress member) {
    return (int)
        exchanges.values().stream().filter(exchange -> exchange.member.equals(member)).count();
  }

  int port() throws IOException {
    return ((InetSocketAddress) server.getLocalAddress()).getPort();
  }

  @Override
  public void close() throws InterruptedException {
    quietly(server);
    receiver.interrupt();
    receiver.join();
    exchanges.values().forEach(this::end);
  }

  private void receive() {
    ByteBuffer buffer = ByteBuffer.allocate(LARGEST);
    int failures = 0;
    try {
      while (true) {
        try {
          buffer.clear();
          SocketAddress client = server.receive(buffer);
          buffer.flip();
          forward(client, buffer);
          failures = 0;
        } catch (IOException _) {
          if (!server.isOpen()) {
            return;
          }
          Pauses.REAL.pause(RECEIVE_AGAIN.delay(failures++));
        }
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt(); // closed
    }
  }

  /** What cannot be sent is lost, as datagrams are. */
  private void forward(SocketAddress client, ByteBuffer datagram) throws IOException {
    Exchange exchange = exchanges.get(client);
    if (exchange == null) {
      List<InetAddress> members = targets;
      if (members.isEmpty() || exchanges.size() >= MOST_CLIENTS) {
        return;
      }
      exchange = new Exchange(client, members.get(Math.floorMod(turn++, members.size())));
      exchanges.put(client, exchange);
      Thread _ = Thread.ofVirtual().name("datagrams-back").start(exchange::copyAnswers);
    }
    try {
      exchange.used = true;
      exchange.channel.write(datagram);
    } catch (IOException _) {
      end(exchange);
    }
  }

  private void end(Exchange exchange) {
    exchanges.remove(exchange.client, exchange);
    quietly(exchange.channel);
  }

  private static void quietly(DatagramChannel channel) {
    try {
      channel.close();
    } catch (IOException _) {
      // nothing is left to be done with it
    }
  }
}
