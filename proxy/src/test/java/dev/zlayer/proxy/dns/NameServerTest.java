package dev.zlayer.proxy.dns;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.port.DeploymentNames;
import dev.zlayer.port.DeploymentNames.Range;
import dev.zlayer.port.Rotation.Member;
import dev.zlayer.port.Rotation.Members;
import dev.zlayer.spec.network.NetworkingSpec.Reachability;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.xbill.DNS.ARecord;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Flags;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.Rcode;
import org.xbill.DNS.Record;
import org.xbill.DNS.Section;
import org.xbill.DNS.Type;

/** Asks with real sockets; the machine's own servers are a second server of this kind. */
class NameServerTest {
  private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
  private static final Range HERE =
      new Range("br0", InetAddress.ofLiteral("127.0.0.0"), 8, LOOPBACK);

  @TempDir Path directory;
  private Path resolvConf;
  private NameServer server;
  private NameServer upstream;

  @BeforeEach
  void open() throws IOException {
    resolvConf = directory.resolve("resolv.conf");
    Files.writeString(resolvConf, "search lan\n");
    upstream = NameServer.open(0, resolvConf);
    upstream.range("outside", HERE);
    server = NameServer.open(0, resolvConf);
    server.range("shop", HERE);
  }

  @AfterEach
  void close() throws InterruptedException {
    server.close();
    upstream.close();
  }

  @Test
  void aServiceHasTheAddressesOfItsHealthyReplicas() throws IOException {
    server.service(service("web", member("web", 1, true), member("web", 2, false)));
    server.service(service("db", member("db", 3, true)));

    assertThat(addresses(ask("web"))).containsExactly("10.0.0.1");
    assertThat(addresses(ask("WEB"))).containsExactly("10.0.0.1");
    assertThat(addresses(ask("web.shop.zlayer.internal"))).containsExactly("10.0.0.1");
    assertThat(addresses(ask("3.db.shop.zlayer.internal"))).containsExactly("10.0.0.3");
    assertThat(ask("web").getHeader().getFlag(Flags.AA)).isTrue();
    assertThat(ask("web").getSection(Section.ANSWER).getFirst().getTTL()).isLessThanOrEqualTo(5);
  }

  @Test
  void whoIsNotHealthyHasANameAndNoAddress() throws IOException {
    server.service(service("web", member("web", 2, false)));

    assertThat(ask("web").getRcode()).isEqualTo(Rcode.NOERROR);
    assertThat(ask("web").getSection(Section.ANSWER)).isEmpty();
    assertThat(ask("2.web.shop.zlayer.internal").getRcode()).isEqualTo(Rcode.NOERROR);
    assertThat(ask("7.web.shop.zlayer.internal").getRcode()).isEqualTo(Rcode.NXDOMAIN);
    assertThat(ask("web", Type.AAAA).getRcode()).isEqualTo(Rcode.NOERROR);
  }

  @Test
  void otherDeploymentsAreNotThere() throws IOException {
    server.service(
        new Members(
            new ServiceKey("blog", "web"),
            List.of(),
            Reachability.NEVER,
            List.of(member("web", 1, true))));

    assertThat(ask("web.blog.zlayer.internal").getRcode()).isEqualTo(Rcode.NXDOMAIN);
    assertThat(ask("nothing.shop.zlayer.internal").getRcode()).isEqualTo(Rcode.NXDOMAIN);
    server.forget("shop");
    assertThat(ask("web").getRcode()).isEqualTo(Rcode.REFUSED);
  }

  @Test
  void otherNamesAreAskedForElsewhere() throws IOException {
    upstream.service(
        new Members(
            new ServiceKey("outside", "far"),
            List.of(),
            Reachability.NEVER,
            List.of(member("far", 9, true))));

    assertThat(ask("far").getRcode()).as("nobody to ask").isEqualTo(Rcode.SERVFAIL);
    Files.writeString(resolvConf, "nameserver 127.0.0.1#%d\n".formatted(upstream.port()));

    assertThat(addresses(ask("far"))).containsExactly("10.0.0.9");
    assertThat(addresses(askByStream("far"))).containsExactly("10.0.0.9");
  }

  /** Somebody who guesses sends an answer to each number; none of them ends the question. */
  @Test
  void answersWithOtherNumbersAreIgnored() throws Exception {
    try (var other = new DatagramSocket(new InetSocketAddress(LOOPBACK, 0))) {
      Files.writeString(resolvConf, "nameserver 127.0.0.1#%d\n".formatted(other.getLocalPort()));
      Thread answering =
          Thread.ofVirtual()
              .start(
                  () -> {
                    var packet = new DatagramPacket(new byte[512], 512);
                    try {
                      other.receive(packet);
                      var query = new Message(Arrays.copyOf(packet.getData(), packet.getLength()));
                      for (int wrong = 1; wrong <= 5; wrong++) {
                        other.send(answer(query, wrong, "10.6.6.6", packet.getSocketAddress()));
                        other.send(
                            new DatagramPacket(new byte[] {1}, 1, packet.getSocketAddress()));
                      }
                      other.send(answer(query, 0, "10.0.0.7", packet.getSocketAddress()));
                    } catch (IOException e) {
                      throw new UncheckedIOException(e);
                    }
                  });
      assertThat(addresses(ask("far.example"))).containsExactly("10.0.0.7");
      answering.join();
    }
  }

  private static DatagramPacket answer(Message query, int wrong, String address, SocketAddress to)
      throws IOException {
    var answer = new Message((query.getHeader().getID() + wrong) & 0xffff);
    answer.getHeader().setFlag(Flags.QR);
    answer.addRecord(query.getQuestion(), Section.QUESTION);
    answer.addRecord(
        new ARecord(query.getQuestion().getName(), DClass.IN, 60, InetAddress.ofLiteral(address)),
        Section.ANSWER);
    byte[] bytes = answer.toWire();
    return new DatagramPacket(bytes, bytes.length, to);
  }

  /** A question is data, too: whoever serves the domain reads it. */
  @Test
  void whoIsOnInternalNetworksAloneGetsNoAnswersFromElsewhere() throws IOException {
    upstream.service(
        new Members(
            new ServiceKey("outside", "far"),
            List.of(),
            Reachability.NEVER,
            List.of(member("far", 9, true))));
    Files.writeString(resolvConf, "nameserver 127.0.0.1#%d\n".formatted(upstream.port()));
    server.forget("shop");
    server.range(DeploymentNames.NETWORK + "closed", HERE);
    var enclosed = new AtomicBoolean();
    server.containers(
        new DeploymentNames.Containers() {
          @Override
          public List<InetAddress> find(String network, Optional<InetAddress> client, String name) {
            return name.equals("near") ? List.of(LOOPBACK) : List.of();
          }

          @Override
          public boolean enclosed(InetAddress client) {
            return enclosed.get();
          }
        });

    assertThat(addresses(ask("far"))).containsExactly("10.0.0.9");
    enclosed.set(true);
    assertThat(addresses(ask("near"))).containsExactly("127.0.0.1");
    assertThat(ask("far").getRcode()).isEqualTo(Rcode.NXDOMAIN);
    assertThat(askByStream("far").getRcode()).isEqualTo(Rcode.NXDOMAIN);
    assertThat(ask("secret.far", Type.TXT).getRcode()).isEqualTo(Rcode.NXDOMAIN);
  }

  @Test
  void aServiceDoesNotHideATopLevelDomain() throws IOException {
    Files.writeString(resolvConf, "nameserver 127.0.0.1#%d\n".formatted(upstream.port()));
    server.service(service("internal", member("internal", 1, true)));

    assertThat(addresses(ask("internal"))).containsExactly("10.0.0.1");
    assertThat(ask("cal.internal").getHeader().getFlag(Flags.AA))
        .as("answered by the other server, which does not know it either")
        .isFalse();
    assertThat(ask("cal.internal").getRcode()).isEqualTo(Rcode.SERVFAIL);
  }

  @Test
  void whatDoesNotFitIsCutAndWholeByStream() throws IOException {
    Member[] many =
        IntStream.rangeClosed(1, 200)
            .mapToObj(number -> member("web", number, true))
            .toArray(Member[]::new);
    server.service(service("web", many));

    Message cut = ask("web");
    assertThat(cut.getHeader().getFlag(Flags.TC)).isTrue();
    assertThat(cut.numBytes()).isLessThanOrEqualTo(512);
    assertThat(addresses(askByStream("web"))).hasSize(200);
  }

  @Test
  void nonsenseIsNotAnswered() throws IOException {
    server.service(service("web", member("web", 1, true)));
    try (var socket = new DatagramSocket()) {
      socket.send(new DatagramPacket(new byte[] {1, 2, 3}, 3, LOOPBACK, server.port()));
    }
    assertThat(addresses(ask("web"))).hasSize(1);
  }

  @Test
  void theNextServerTakesTheSamePort() throws Exception {
    int port = server.port();
    server.close();
    server = NameServer.open(port, resolvConf);

    assertThat(server.port()).isEqualTo(port);
  }

  @Test
  void outOfDescriptorsItBacksOffAndAnswersAgain() throws Exception {
    var pauses = new ConcurrentLinkedQueue<Duration>();
    var datagrams = new AtomicInteger(12);
    var streams = new AtomicInteger(12);
    var starved =
        new NameServer.Sockets() {
          @Override
          public void receive(DatagramSocket socket, DatagramPacket packet) throws IOException {
            fail(datagrams);
            NameServer.Sockets.super.receive(socket, packet);
          }

          @Override
          public Socket accept(ServerSocket socket) throws IOException {
            fail(streams);
            return NameServer.Sockets.super.accept(socket);
          }

          private static void fail(AtomicInteger left) throws IOException {
            if (left.getAndDecrement() > 0) {
              throw new IOException("Too many open files");
            }
          }
        };
    server.close();
    server = NameServer.open(0, resolvConf, starved, pauses::add);
    server.range("shop", HERE);
    server.service(service("web", member("web", 1, true)));

    assertThat(addresses(ask("web"))).containsExactly("10.0.0.1");
    assertThat(addresses(askByStream("web"))).containsExactly("10.0.0.1");
    assertThat(pauses).hasSize(24).allMatch(pause -> pause.compareTo(Duration.ofSeconds(1)) <= 0);
    assertThat(pauses).filteredOn(Duration.ofSeconds(1)::equals).hasSizeGreaterThan(8);
  }

  @Test
  void aServerThatPausesIsClosedAtOnce() throws Exception {
    var broken =
        new NameServer.Sockets() {
          @Override
          public Socket accept(ServerSocket socket) throws IOException {
            throw new IOException("Too many open files");
          }
        };
    var pausing = new CountDownLatch(1);
    NameServer stuck =
        NameServer.open(
            0,
            resolvConf,
            broken,
            _ -> {
              pausing.countDown();
              new CountDownLatch(1).await();
            });
    pausing.await();
    stuck.close();
  }

  private static Members service(String name, Member... members) {
    return new Members(
        new ServiceKey("shop", name), List.of(), Reachability.NEVER, List.of(members));
  }

  private static Member member(String service, int number, boolean ready) {
    return new Member(
        ContainerId.of("shop", service, number), InetAddress.ofLiteral("10.0.0." + number), ready);
  }

  private static List<String> addresses(Message answer) {
    return answer.getSection(Section.ANSWER).stream()
        .map(record -> ((ARecord) record).getAddress().getHostAddress())
        .sorted()
        .toList();
  }

  private Message ask(String name) throws IOException {
    return ask(name, Type.A);
  }

  private Message ask(String name, int type) throws IOException {
    byte[] query = query(name, type);
    try (var socket = new DatagramSocket()) {
      socket.setSoTimeout(20_000);
      socket.send(new DatagramPacket(query, query.length, LOOPBACK, server.port()));
      var packet = new DatagramPacket(new byte[4096], 4096);
      socket.receive(packet);
      return new Message(Arrays.copyOf(packet.getData(), packet.getLength()));
    }
  }

  private Message askByStream(String name) throws IOException {
    byte[] query = query(name, Type.A);
    try (var socket = new Socket(LOOPBACK, server.port())) {
      socket.setSoTimeout(20_000);
      var out = new DataOutputStream(socket.getOutputStream());
      out.writeShort(query.length);
      out.write(query);
      var in = new DataInputStream(socket.getInputStream());
      byte[] answer = new byte[in.readUnsignedShort()];
      in.readFully(answer);
      return new Message(answer);
    }
  }

  private static byte[] query(String name, int type) throws IOException {
    Record question = Record.newRecord(Name.fromString(name + "."), type, DClass.IN);
    return Message.newQuery(question).toWire();
  }
}
