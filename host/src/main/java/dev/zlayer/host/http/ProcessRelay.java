package dev.zlayer.host.http;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * A program whose standard streams are a connection, behind a socket that can be interrupted and
 * closed like any other. Owns the program and three threads; all end when either side closes.
 */
final class ProcessRelay {
  private static final int BUFFER = 16 << 10;
  private static final int MOST_ERRORS = 4096;
  private static final int EXIT_SECONDS = 5;

  /** What it had said when it ended is read by then. */
  private static final Duration REST = Duration.ofSeconds(1);

  private final SocketChannel near;
  private final SocketChannel far;
  private final Process process;

  /** Guarded by itself. */
  private final StringBuilder errors = new StringBuilder();

  private final Thread errorReader;

  private ProcessRelay(SocketChannel near, SocketChannel far, Process process) {
    this.near = near;
    this.far = far;
    this.process = process;
    this.errorReader = Thread.ofVirtual().name("relay-errors").unstarted(this::readErrors);
  }

  static ProcessRelay start(Command command) throws IOException {
    Path directory = Files.createTempDirectory("zlayer-relay"); // open to this user alone
    var address = UnixDomainSocketAddress.of(directory.resolve("socket"));
    SocketChannel near = SocketChannel.open(StandardProtocolFamily.UNIX);
    try (var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(address);
      near.connect(address);
      SocketChannel far = server.accept();
      try {
        var relay = new ProcessRelay(near, far, Processes.start(command));
        relay.run();
        return relay;
      } catch (AgentException e) {
        far.close();
        throw new IOException(e.getMessage(), e);
      }
    } catch (IOException | RuntimeException e) {
      near.close();
      throw e;
    } finally {
      Files.deleteIfExists(address.getPath());
      Files.deleteIfExists(directory);
    }
  }

  private void run() {
    errorReader.start();
    Thread.ofVirtual().name("relay-out").start(this::send);
    Thread.ofVirtual().name("relay-in").start(this::receive);
  }

  /** The end that the caller reads and writes. */
  SocketChannel channel() {
    return near;
  }

  /** Why the program ended, if it did not end well; asked when nothing more comes from it. */
  Optional<String> failure() {
    try {
      if (!process.waitFor(EXIT_SECONDS, TimeUnit.SECONDS) || process.exitValue() == 0) {
        return Optional.empty();
      }
      // a child of it, such as ssh's own master, may keep the stream open for as long as it likes
      boolean _ = errorReader.join(REST);
      String printed = errors().strip();
      return Optional.of(
          printed.isEmpty()
              ? "it exited with code " + process.exitValue()
              : printed.substring(printed.lastIndexOf('\n') + 1));
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    }
  }

  private String errors() {
    synchronized (errors) {
      return errors.toString();
    }
  }

  private void send() {
    try (OutputStream out = process.getOutputStream()) {
      ByteBuffer buffer = ByteBuffer.allocate(BUFFER);
      while (far.read(buffer) >= 0) {
        out.write(buffer.array(), 0, buffer.position());
        out.flush();
        buffer.clear();
      }
    } catch (IOException _) {
      // one of the two has ended; what comes back, or does not, shows it
    }
    if (!near.isOpen()) {
      process.destroy(); // nobody waits for what it may still say
    }
  }

  private void receive() {
    try (far;
        InputStream in = process.getInputStream()) {
      in.transferTo(Channels.newOutputStream(far));
    } catch (IOException _) {
      process.destroy();
    }
  }

  private void readErrors() {
    try (InputStream in = process.getErrorStream()) {
      var chunk = new byte[1024];
      for (int count = in.read(chunk); count >= 0; count = in.read(chunk)) {
        synchronized (errors) {
          errors.append(new String(chunk, 0, count, StandardCharsets.UTF_8));
          if (errors.length() > MOST_ERRORS) {
            errors.delete(0, errors.length() - MOST_ERRORS);
          }
        }
      }
    } catch (IOException _) {
      // killed; what was read is what there is
    }
  }
}
