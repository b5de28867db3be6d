package dev.zlayer.host.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RelayTest {
  private static final InetAddress FIRST = InetAddress.ofLiteral("127.0.0.1");
  private static final InetAddress SECOND = InetAddress.ofLiteral("127.0.0.2");
  private static final InetAddress NOBODY = InetAddress.ofLiteral("127.0.0.3");
  private static final int KILL_AFTER = (int) Duration.ofSeconds(20).toMillis();

  private ServerSocket first;
  private ServerSocket second;
  private Relay relay;

  @BeforeEach
  void open() throws IOException {
    first = new ServerSocket(0, 50, FIRST);
    second = new ServerSocket(first.getLocalPort(), 50, SECOND);
    first.setSoTimeout(KILL_AFTER);
    second.setSoTimeout(KILL_AFTER);
    relay = Relay.open(new InetSocketAddress(FIRST, 0), first.getLocalPort());
  }

  @AfterEach
  void close() throws Exception {
    relay.close();
    first.close();
    second.close();
  }

  @Test
  void outOfDescriptorsItBacksOffAndAcceptsAgain() throws Exception {
    var failures = new AtomicInteger(12);
    var pauses = new ConcurrentLinkedQueue<Duration>();
    try (Relay starved =
        Relay.open(
            new InetSocketAddress(FIRST, 0),
            first.getLocalPort(),
            server -> {
              if (failures.getAndDecrement() > 0) {
                throw new IOException("Too many open files");
              }
              return server.accept();
            },
            pauses::add)) {
      starved.members(List.of(FIRST));
      try (var client = new Socket(FIRST, starved.port());
          Socket member = first.accept()) {
        member.getOutputStream().write('x');
        assertThat(client.getInputStream().read()).isEqualTo('x');
      }
    }
    assertThat(pauses).hasSize(12).allMatch(pause -> pause.compareTo(Duration.ofSeconds(1)) <= 0);
    assertThat(pauses.stream().toList().getLast()).isEqualTo(Duration.ofSeconds(1));
  }

  @Test
  void asManyConnectAtOnceAsTheSystemAllows() throws Exception {
    relay.members(List.of());
    var channels = new ArrayList<SocketChannel>();
    try (Relay busy =
        Relay.open(
            new InetSocketAddress(FIRST, 0),
            first.getLocalPort(),
            _ -> {
              LockSupport.park(); // as if it could not keep up
              throw new IOException("closed");
            },
            _ -> {})) {
      for (int number = 0; number < 800; number++) {
        SocketChannel channel = SocketChannel.open();
        channels.add(channel);
        channel.socket().connect(new InetSocketAddress(FIRST, busy.port()), KILL_AFTER);
      }
      assertThat(channels).allMatch(SocketChannel::isConnected);
    } finally {
      for (SocketChannel channel : channels) {
        channel.close();
      }
    }
  }

  @Test
  void aSideThatHasEndedCanStillBeAnswered() throws Exception {
    relay.members(List.of(FIRST));
    try (Socket client = client()) {
      client.getOutputStream().write("question".getBytes(StandardCharsets.UTF_8));
      client.shutdownOutput();
      try (Socket member = first.accept()) {
        assertThat(member.getInputStream().readAllBytes()).asString().isEqualTo("question");
        member.getOutputStream().write("answer".getBytes(StandardCharsets.UTF_8));
      }
      assertThat(client.getInputStream().readAllBytes()).asString().isEqualTo("answer");
    }
    Awaitility.await().until(() -> relay.connections(FIRST) == 0);
    assertThat(relay.accepted()).isEqualTo(1);
  }

  @Test
  void theMemberWithTheFewestConnectionsGetsTheNext() throws Exception {
    relay.members(List.of(FIRST, SECOND));
    try (Socket one = client();
        Socket _ = first.accept();
        Socket two = client();
        Socket _ = second.accept()) {
      assertThat(one.isConnected() && two.isConnected()).isTrue();
      assertThat(relay.connections(FIRST)).isEqualTo(1);
      assertThat(relay.connections(SECOND)).isEqualTo(1);
    }
  }

  @Test
  void aMemberThatIsNotThereIsPassedOver() throws Exception {
    relay.members(List.of(NOBODY, SECOND));
    try (Socket client = client();
        Socket member = second.accept()) {
      member.getOutputStream().write(1);
      assertThat(client.getInputStream().read()).isEqualTo(1);
    }
  }

  @Test
  void aConnectionOutlivesItsMembersPlaceInTheRotation() throws Exception {
    relay.members(List.of(FIRST));
    try (Socket client = client();
        Socket member = first.accept()) {
      relay.members(List.of(SECOND));
      member.getOutputStream().write(7);
      assertThat(client.getInputStream().read()).isEqualTo(7);
      assertThat(relay.connections(FIRST)).isEqualTo(1);
    }
    Awaitility.await().until(() -> relay.connections(FIRST) == 0);
  }

  @Test
  void withoutMembersACallerIsToldAtOnce() {
    // while it connects, or when it reads
    assertThatThrownBy(
            () -> {
              try (Socket client = client()) {
                assertThat(client.getInputStream().read()).isNegative();
              }
            })
        .isInstanceOf(SocketException.class);
  }

  @Test
  void manyBytesArriveWhole() throws Exception {
    relay.members(List.of(FIRST));
    var bytes = new byte[8 << 20];
    new java.util.Random(1).nextBytes(bytes);
    try (Socket client = client();
        Socket member = first.accept()) {
      CompletableFuture<byte[]> read =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return member.getInputStream().readAllBytes();
                } catch (IOException e) {
                  throw new java.io.UncheckedIOException(e);
                }
              });
      client.getOutputStream().write(bytes);
      client.shutdownOutput();
      assertThat(read.get(20, java.util.concurrent.TimeUnit.SECONDS)).isEqualTo(bytes);
    }
  }

  private Socket client() throws IOException {
    var socket = new Socket();
    socket.connect(new InetSocketAddress(FIRST, relay.port()), KILL_AFTER);
    socket.setSoTimeout(KILL_AFTER);
    return socket;
  }
}
