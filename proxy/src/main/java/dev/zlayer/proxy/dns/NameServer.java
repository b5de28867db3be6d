package dev.zlayer.proxy.dns;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.port.DeploymentNames;
import dev.zlayer.port.DeploymentNames.Range;
import dev.zlayer.port.Rotation.Members;
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
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import org.xbill.DNS.Message;
import org.xbill.DNS.Rcode;

/**
 * Answers questions on a port of loopback, to which the kernel leads what containers send to the
 * machine's address in their network. Questions from elsewhere are refused. Each waits on a thread
 * of its own; when too many wait, a new one is dropped and asked again by its resolver.
 */
public final class NameServer implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(NameServer.class.getName());
  private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
  private static final int MOST_QUESTIONS = 512;
  private static final int MOST_STREAMS = 128;
  private static final int STREAM_MILLIS = 10_000;
  private static final int PORT_ATTEMPTS = 32;

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

  private NameServer(DatagramSocket datagrams, ServerSocket streams, Path resolvConf) {
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
    IOException last = new IOException("no port of loopback is free");
    for (int attempt = 0; attempt < PORT_ATTEMPTS; attempt++) {
      int port = attempt == 0 ? before : 0;
      DatagramSocket datagrams = null;
      try {
        datagrams = new DatagramSocket(new InetSocketAddress(LOOPBACK, port));
        var streams = new ServerSocket();
        streams.setReuseAddress(true);
        streams.bind(new InetSocketAddress(LOOPBACK, datagrams.getLocalPort()), MOST_STREAMS);
        return new NameServer(datagrams, streams, resolvConf);
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
    datagramThread.join();
    streamThread.join();
  }

  private void receive() {
    var packet = new DatagramPacket(new byte[Answers.MOST_BYTES], Answers.MOST_BYTES);
    while (!datagrams.isClosed()) {
      try {
        packet.setLength(Answers.MOST_BYTES);
        datagrams.receive(packet);
        byte[] question = Arrays.copyOf(packet.getData(), packet.getLength());
        SocketAddress client = packet.getSocketAddress();
        InetAddress from = packet.getAddress();
        if (questions.tryAcquire()) {
          Thread _ = Thread.ofVirtual().name("name").start(() -> datagram(question, client, from));
        }
      } catch (IOException e) {
        if (!datagrams.isClosed()) {
          LOG.log(System.Logger.Level.DEBUG, "a question could not be received", e);
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
    while (!streams.isClosed()) {
      try {
        Socket client = streams.accept();
        if (connections.tryAcquire()) {
          open.add(client);
          Thread _ = Thread.ofVirtual().name("names").start(() -> stream(client));
        } else {
          client.close();
        }
      } catch (IOException e) {
        if (!streams.isClosed()) {
          LOG.log(System.Logger.Level.DEBUG, "a connection could not be taken", e);
        }
      }
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
        : answers.answer(query, deployment.get());
  }

  private static void close(java.io.Closeable one) {
    try {
      one.close();
    } catch (IOException _) {
      // nothing is left to be done with it
    }
  }
}
