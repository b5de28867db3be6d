package dev.zlayer.proxy.dns;

import dev.zlayer.task.Deadline;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * The machine's own name servers, asked one after the other. The list is read for each question, so
 * it is always that of the machine as it is.
 */
final class Upstreams {
  private static final int PORT = 53;
  private static final int WAIT_MILLIS = 2_500;
  private static final int HEADER = 12;

  private final Path resolvConf;
  private final SecureRandom random = new SecureRandom();

  Upstreams(Path resolvConf) {
    this.resolvConf = resolvConf;
  }

  /** The answer to a question as it came, or empty when nobody answered. */
  Optional<byte[]> datagram(byte[] query) {
    for (InetSocketAddress server : servers()) {
      try {
        return Optional.of(askDatagram(query, server));
      } catch (IOException _) {
        // the next one may answer
      }
    }
    return Optional.empty();
  }

  Optional<byte[]> stream(byte[] query) {
    for (InetSocketAddress server : servers()) {
      try {
        return Optional.of(askStream(query, server));
      } catch (IOException _) {
        // the next one may answer
      }
    }
    return Optional.empty();
  }

  List<InetSocketAddress> servers() {
    try {
      return Files.readAllLines(resolvConf).stream()
          .map(String::strip)
          .filter(line -> line.startsWith("nameserver"))
          .map(line -> line.substring("nameserver".length()).strip())
          .flatMap(text -> server(text).stream())
          .toList();
    } catch (IOException _) {
      return List.of();
    }
  }

  /** With a port behind the address, as some systems write it: {@code 127.0.0.1#5353}. */
  private static Optional<InetSocketAddress> server(String text) {
    int mark = text.indexOf('#');
    try {
      String address = mark < 0 ? text : text.substring(0, mark);
      int port = mark < 0 ? PORT : Integer.parseInt(text.substring(mark + 1));
      return Optional.of(new InetSocketAddress(InetAddress.ofLiteral(address), port));
    } catch (IllegalArgumentException _) {
      return Optional.empty();
    }
  }

  /** Under a number of our own and from a port of the moment, so that nobody can guess both. */
  private byte[] askDatagram(byte[] query, InetSocketAddress server) throws IOException {
    byte[] sent = query.clone();
    byte[] id = new byte[2];
    random.nextBytes(id);
    System.arraycopy(id, 0, sent, 0, id.length);
    try (var socket = new DatagramSocket()) {
      socket.connect(server);
      socket.send(new DatagramPacket(sent, sent.length));
      var packet = new DatagramPacket(new byte[Answers.MOST_BYTES], Answers.MOST_BYTES);
      Deadline deadline = Deadline.after(Duration.ofMillis(WAIT_MILLIS));
      while (!deadline.passed()) { // whoever guesses numbers does not end it sooner
        socket.setSoTimeout(Math.max(1, (int) deadline.left().toMillis()));
        packet.setLength(Answers.MOST_BYTES);
        socket.receive(packet);
        byte[] answer = Arrays.copyOf(packet.getData(), packet.getLength());
        if (answer.length >= HEADER && answer[0] == id[0] && answer[1] == id[1]) {
          return restored(answer, query);
        }
      }
      throw new SocketTimeoutException("only answers to other questions came");
    }
  }

  private static byte[] askStream(byte[] query, InetSocketAddress server) throws IOException {
    try (var socket = new Socket()) {
      socket.setSoTimeout(WAIT_MILLIS);
      socket.connect(server, WAIT_MILLIS);
      var out = new DataOutputStream(socket.getOutputStream());
      out.writeShort(query.length);
      out.write(query);
      out.flush();
      var in = new DataInputStream(socket.getInputStream());
      byte[] answer = new byte[in.readUnsignedShort()];
      in.readFully(answer);
      return restored(answer, query);
    }
  }

  private static byte[] restored(byte[] answer, byte[] query) {
    System.arraycopy(query, 0, answer, 0, 2);
    return answer;
  }
}
