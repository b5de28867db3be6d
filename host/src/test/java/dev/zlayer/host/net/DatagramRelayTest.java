package dev.zlayer.host.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class DatagramRelayTest {
  private static final InetAddress FIRST = InetAddress.ofLiteral("127.0.0.1");
  private static final InetAddress SECOND = InetAddress.ofLiteral("127.0.0.2");
  private static final int LIMIT = 20_000;

  private DatagramSocket first;
  private DatagramSocket second;
  private DatagramSocket client;
  private DatagramRelay relay;

  @BeforeEach
  void open() throws Exception {
    first = new DatagramSocket(new InetSocketAddress(FIRST, 0));
    second = new DatagramSocket(new InetSocketAddress(SECOND, first.getLocalPort()));
    client = new DatagramSocket(new InetSocketAddress(FIRST, 0));
    for (DatagramSocket socket : List.of(first, second, client)) {
      socket.setSoTimeout(LIMIT);
    }
    relay = DatagramRelay.open(new InetSocketAddress(FIRST, 0), first.getLocalPort());
  }

  @AfterEach
  void close() throws Exception {
    relay.close();
    first.close();
    second.close();
    client.close();
  }

  private void say(String text) throws Exception {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    client.send(new DatagramPacket(bytes, bytes.length, FIRST, relay.port()));
  }

  private static DatagramPacket heard(DatagramSocket socket, String text) throws Exception {
    DatagramPacket packet = received(socket);
    assertThat(text(packet)).isEqualTo(text);
    return packet;
  }

  private static DatagramPacket received(DatagramSocket socket) throws Exception {
    var packet = new DatagramPacket(new byte[65_535], 65_535);
    socket.receive(packet);
    return packet;
  }

  private static String text(DatagramPacket packet) {
    return new String(packet.getData(), 0, packet.getLength(), StandardCharsets.UTF_8);
  }

  @Test
  void datagramsAndAnswersAreCopiedWhole() throws Exception {
    relay.members(List.of(FIRST));
    String large = "x".repeat(60_000);
    for (String text : List.of("a", large, "b")) {
      say(text);
      first.send(heard(first, text));
      heard(client, text);
    }
    assertThat(relay.connections(FIRST)).isEqualTo(1);
    assertThat(relay.connections(SECOND)).isZero();
  }

  @Test
  void aClientOfAMemberThatLeavesGetsAnotherOne() throws Exception {
    relay.members(List.of(FIRST));
    say("one");
    heard(first, "one");
    relay.members(List.of(SECOND));
    Awaitility.await().until(() -> relay.connections(FIRST) == 0);
    say("two");
    second.send(heard(second, "two"));
    heard(client, "two");
  }

  @Test
  void aMemberThatRefusesIsAskedAgain() throws Exception {
    int port = first.getLocalPort();
    first.close();
    relay.members(List.of(FIRST));
    say("lost");
    Awaitility.await().until(() -> relay.connections(FIRST) == 0);
    first = new DatagramSocket(new InetSocketAddress(FIRST, port));
    first.setSoTimeout(LIMIT);
    say("here");
    DatagramPacket packet = received(first);
    if (text(packet).equals("lost")) { // a busy machine copied it only now
      packet = received(first);
    }
    assertThat(text(packet)).isEqualTo("here");
    first.send(packet);
    heard(client, "here");
  }

  @Test
  void withoutMembersNothingIsKeptAndTheEndFreesThePort() throws Exception {
    say("nobody");
    first.setSoTimeout(300);
    assertThatThrownBy(() -> heard(first, "nobody")).isInstanceOf(SocketTimeoutException.class);
    first.setSoTimeout(LIMIT);
    relay.members(List.of(FIRST));
    say("somebody");
    heard(first, "somebody");
    int port = relay.port();
    relay.close();
    try (var again = new DatagramSocket(new InetSocketAddress(FIRST, port))) {
      assertThat(again.isBound()).isTrue();
    } catch (SocketException e) {
      throw new AssertionError("the port is still taken", e);
    }
  }
}
