package dev.zlayer.proxy.dns;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.port.DeploymentNames;
import dev.zlayer.port.DeploymentNames.Range;
import dev.zlayer.port.Rotation.Members;
import dev.zlayer.task.Backoff;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Pauses;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.function.BooleanSupplier;
import org.xbill.DNS.Message;
import org.xbill.DNS.Rcode;

/**
 * Answers questions on a port of loopback, to which the kernel leads what containers send to the
 * machine's address in their network. Questions from elsewhere are refused. Each waits on a thread
 * of its own; when too many wait, a new one is dropped and asked again by its resolver.
 */
public final class NameServer implements AutoCloseable {
  private static final System.Logger LOG = LazyLogger.of(NameServer.class);
  private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
  private static final int MOST_QUESTIONS = 512;
  private static final int MOST_STREAMS = 128;

  /** As many as the system allows: the kernel cuts it to {@code net.core.somaxconn}. */
  private static final int BACKLOG = Integer.MAX_VALUE;

  private static final int STREAM_MILLIS = 10_000;
  private static final int PORT_ATTEMPTS = 32;
  private static final Backoff AGAIN =
      new Backoff(Duration.ofMillis(10), Duration.ofSeconds(1), 2.0);

  /** Waits for what comes next; a test lets it fail. */
  interface Sockets {
    Sockets REAL = new Sockets() {};

    default void receive(DatagramSocket socket, DatagramPacket packet) throws IOException {
      socket.receive(packet);
    }

    default Socket accept(ServerSocket socket) throws IOException {
      return socket.accept();
    }
  }

  private final Sockets sockets;
  private final Pauses pauses;
  private final DatagramSocket datagrams;
  private final ServerSocket streams;
  private final Directory directory = new Directory();
  private final Answers answers = new Answers(directory);
  private final Upstreams upstreams;
  private final Semaphore questions = new Semaphore(MOST_QUESTIONS);
  private final Semaphore connections = new Semaphore(MOST_STREAMS);
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();
  private final Thread datagramThread;
  private final Thread streamThread;

  private NameServer(
      DatagramSocket datagrams,
      ServerSocket streams,
      Path resolvConf,
      Sockets sockets,
      Pauses pauses) {
    this.sockets = sockets;
    this.pauses = pauses;
    this.datagrams = datagrams;
    this.streams = streams;
    this.upstreams = new Upstreams(resolvConf);
    this.datagramThread = Thread.ofVirtual().name("names-udp").start(this::receive);
    this.streamThread = Thread.ofVirtual().name("names-tcp").start(this::accept);
  }

  /**
   * On the port of the agent before, so that questions that are asked again find the way; on
   * another one when it is taken.
   */
  public static NameServer open(int before, Path resolvConf) throws IOException {
    return open(before, resolvConf, Sockets.REAL, Pauses.REAL);
  }

  static NameServer open(int before, Path resolvConf, Sockets sockets, Pauses pauses)
      throws IOException {
    IOException last = new IOException("no port of loopback is free");
    for (int attempt = 0; attempt < PORT_ATTEMPTS; attempt++) {
      int port = attempt == 0 ? before : 0;
      DatagramSocket datagrams = null;
      try {
        datagrams = new DatagramSocket(new InetSocketAddress(LOOPBACK, port));
        var streams = new ServerSocket();
        streams.setReuseAddress(true);
        streams.bind(new InetSocketAddress(LOOPBACK, datagrams.getLocalPort()), BACKLOG);
        return new NameServer(datagrams, streams, resolvConf, sockets, pauses);
      } catch (IOException e) {
        last = e;
        if (datagrams != null) {
          datagrams.close();
        }
      }
    }
    throw last;
  }

  public int port() {
    return datagrams.getLocalPort();
  }

  /** Who knows the containers without a deployment. */
  public void containers(DeploymentNames.Containers containers) {
    directory.containers(containers);
  }

  public void service(Members members) {
    directory.service(members);
  }

  public void remove(ServiceKey service) {
    directory.remove(service);
  }

  /** The addresses of a name of the deployment; empty when it is for other servers to answer. */
  public Optional<List<InetAddress>> find(String deployment, String name) {
    return switch (directory.find(deployment, name)) {
      case Directory.Finding.Found(var addresses) -> Optional.of(addresses);
      case Directory.Finding.Unknown() -> Optional.of(List.of());
      case Directory.Finding.Foreign() -> Optional.empty();
    };
  }

  public void range(String deployment, Range range) {
    directory.range(deployment, range);
  }

  public void forget(String deployment) {
    directory.forget(deployment);
  }

  @Override
  public void close() throws InterruptedException {
    datagrams.close();
    close(streams);
    open.forEach(NameServer::close);
    datagramThread.interrupt(); // either may be in a pause
    streamThread.interrupt();
    datagramThread.join();
    streamThread.join();
  }

  private void receive() {
    var packet = new DatagramPacket(new byte[Answers.MOST_BYTES], Answers.MOST_BYTES);
    serve("questions", datagrams::isClosed, () -> receive(packet));
  }

  private void receive(DatagramPacket packet) throws IOException {
    packet.setLength(Answers.MOST_BYTES);
    sockets.receive(datagrams, packet);
    byte[] question = Arrays.copyOf(packet.getData(), packet.getLength());
    SocketAddress client = packet.getSocketAddress();
    InetAddress from = packet.getAddress();
    if (questions.tryAcquire()) {
      Thread _ = Thread.ofVirtual().name("name").start(() -> datagram(question, client, from));
    }
  }

  /** One thing after the other is taken from a socket. */
  @FunctionalInterface
  private interface Taking {
    void take() throws IOException;
  }

  /** Out of descriptors or memory the kernel fails at once, over and over: it is waited for. */
  private void serve(String what, BooleanSupplier closed, Taking taking) {
    int failures = 0;
    while (!closed.getAsBoolean()) {
      try {
        taking.take();
        if (failures > 0) {
          LOG.log(
              System.Logger.Level.INFO,
              "the name server takes %s again after %d failures".formatted(what, failures));
          failures = 0;
        }
      } catch (IOException e) {
        if (closed.getAsBoolean()) {
          return;
        }
        if (failures == 0) {
          LOG.log(
              System.Logger.Level.WARNING,
              "the name server cannot take %s: %s".formatted(what, e.getMessage()));
        }
        try {
          pauses.pause(AGAIN.delay(failures++));
        } catch (InterruptedException _) {
          Thread.currentThread().interrupt();
          return; // closed
        }
      }
    }
  }

  private void datagram(byte[] question, SocketAddress client, InetAddress from) {
    try {
      Optional<Message> query = Answers.parse(question);
      if (query.isEmpty()) {
        return;
      }
      Optional<Message> own = own(query.get(), from);
      byte[] answer =
          own.isPresent()
              ? Answers.datagram(query.get(), own.get())
              : upstreams
                  .datagram(question)
                  .orElseGet(() -> Answers.reply(query.get(), Rcode.SERVFAIL).toWire());
      datagrams.send(new DatagramPacket(answer, answer.length, client));
    } catch (IOException e) {
      LOG.log(System.Logger.Level.DEBUG, "an answer could not be sent", e);
    } finally {
      questions.release();
    }
  }

  private void accept() {
    serve("connections", streams::isClosed, this::connection);
  }

  private void connection() throws IOException {
    Socket client = sockets.accept(streams);
    if (connections.tryAcquire()) {
      open.add(client);
      Thread _ = Thread.ofVirtual().name("names").start(() -> stream(client));
    } else {
      client.close();
    }
  }

  private void stream(Socket client) {
    try (client) {
      client.setSoTimeout(STREAM_MILLIS);
      var in = new DataInputStream(client.getInputStream());
      var out = new DataOutputStream(client.getOutputStream());
      while (true) {
        byte[] question = new byte[in.readUnsignedShort()];
        in.readFully(question);
        Message query =
            Answers.parse(question).orElseThrow(() -> new EOFException("not a question"));
        Optional<Message> own = own(query, client.getInetAddress());
        byte[] answer =
            own.isPresent()
                ? own.get().toWire(Answers.MOST_BYTES)
                : upstreams.stream(question)
                    .orElseGet(() -> Answers.reply(query, Rcode.SERVFAIL).toWire());
        out.writeShort(answer.length);
        out.write(answer);
        out.flush();
      }
    } catch (IOException _) {
      // the other side has what it wanted
    } finally {
      open.remove(client);
      connections.release();
    }
  }

  private Optional<Message> own(Message query, InetAddress from) {
    Optional<String> deployment = directory.deployment(from);
    return deployment.isEmpty()
        ? Optional.of(Answers.reply(query, Rcode.REFUSED))
        : answers.answer(query, deployment.get(), Optional.of(from));
  }

  private static void close(java.io.Closeable one) {
    try {
      one.close();
    } catch (IOException _) {
      // nothing is left to be done with it
    }
  }
}
