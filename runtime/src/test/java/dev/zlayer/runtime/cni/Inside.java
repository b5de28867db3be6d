package dev.zlayer.runtime.cni;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Runs programs in the namespace of an attachment, and talks to them. */
public final class Inside implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  /** For an answer that comes: on a busy machine it comes late. */
  private static final int PATIENCE = (int) Duration.ofSeconds(30).toMillis();

  private final List<Process> servers = new ArrayList<>();

  public static CommandResult run(Attachment where, String... command) throws InterruptedException {
    return Processes.run(Command.of(arguments(where, command)), Deadline.after(LIMIT));
  }

  /** Answers each connection with one line. */
  public void tcp(Attachment where, int port, String answer) throws IOException {
    serve(where, "tcp", Integer.toString(port), answer);
  }

  /** Greets with the text, then sends back what it reads until the client ends. */
  void keep(Attachment where, int port, String text) throws IOException {
    serve(where, "keep", Integer.toString(port), text);
  }

  /** Sends each datagram back. */
  public void udp(Attachment where, int port) throws IOException {
    serve(where, "udp", Integer.toString(port));
  }

  /** What the server says, or how it failed. */
  public static String ask(InetAddress address, int port) {
    try (var socket = new Socket()) {
      socket.connect(new InetSocketAddress(address, port), PATIENCE);
      socket.setSoTimeout(PATIENCE);
      return new String(socket.getInputStream().readAllBytes(), UTF_8).strip();
    } catch (IOException e) {
      return e.getClass().getSimpleName() + ": " + e.getMessage();
    }
  }

  /** The same from inside a namespace. */
  public static String ask(Attachment from, InetAddress address, int port)
      throws InterruptedException {
    CommandResult result = ask(from, address, port, "30");
    return result.success() ? result.stdout().strip() : "exit " + result.code();
  }

  /** Whether nobody answers in there; does not wait long for somebody who is walled off. */
  public static boolean silent(Attachment from, InetAddress address, int port)
      throws InterruptedException {
    return !ask(from, address, port, "2").success();
  }

  private static CommandResult ask(Attachment from, InetAddress address, int port, String seconds)
      throws InterruptedException {
    return run(
        from,
        "timeout",
        seconds,
        "busybox",
        "nc",
        address.getHostAddress(),
        Integer.toString(port));
  }

  public static String askUdp(InetAddress address, int port, String text) throws IOException {
    try (var socket = new DatagramSocket()) {
      byte[] bytes = text.getBytes(UTF_8);
      socket.send(new DatagramPacket(bytes, bytes.length, address, port));
      socket.setSoTimeout(PATIENCE);
      var answer = new DatagramPacket(new byte[100], 100);
      socket.receive(answer);
      return new String(answer.getData(), 0, answer.getLength(), UTF_8);
    } catch (SocketTimeoutException _) {
      return "no answer";
    }
  }

  @Override
  public void close() {
    for (Process server : servers) {
      server.descendants().forEach(ProcessHandle::destroyForcibly);
      server.destroyForcibly();
    }
  }

  private void serve(Attachment where, String... arguments) throws IOException {
    var line =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Xmx32m",
                "-cp",
                System.getProperty("java.class.path"),
                EchoServer.class.getName()));
    line.addAll(List.of(arguments));
    Process server = Processes.start(Command.of(arguments(where, line.toArray(String[]::new))));
    servers.add(server);
    if (!"ready".equals(server.inputReader().readLine())) {
      throw new IOException(new String(server.getErrorStream().readAllBytes(), UTF_8));
    }
  }

  private static List<String> arguments(Attachment where, String... command) {
    var arguments = new ArrayList<>(List.of("nsenter", "--net=" + where.netns()));
    arguments.addAll(List.of(command));
    return arguments;
  }
}
