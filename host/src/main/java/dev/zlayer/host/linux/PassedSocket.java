package dev.zlayer.host.linux;

import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A listening unix socket that the service manager opened before it started this process, as {@code
 * sd_listen_fds(3)} describes: it stays when the process ends, so that callers wait meanwhile.
 *
 * <p>Java gives a channel only for standard input, and points all standard streams elsewhere when
 * that channel is closed; the descriptor is therefore moved there for a moment, and {@link
 * #keepingStreams} undoes the rest.
 */
public final class PassedSocket {
  private static final int STANDARD_INPUT = 0;
  private static final int STANDARD_OUTPUT = 1;
  private static final int STANDARD_ERROR = 2;
  private static final int FIRST_PASSED = 3;

  /** A process has one standard input. */
  private static final AtomicBoolean TAKEN = new AtomicBoolean();

  private PassedSocket() {}

  /** Something to do that closes the channel. */
  @FunctionalInterface
  public interface Closing {
    void run() throws Exception;
  }

  /**
   * Makes the passed socket the channel of {@link System#inheritedChannel}, once.
   *
   * @return the file it listens on; empty when none was passed to this process
   * @throws AgentException.Configuration several were passed, or something else than a unix socket
   */
  public static Optional<Path> take(Map<String, String> env) {
    String own = String.valueOf(ProcessHandle.current().pid());
    String count = env.getOrDefault("LISTEN_FDS", "");
    if (count.isEmpty() || !own.equals(env.get("LISTEN_PID")) || TAKEN.getAndSet(true)) {
      return Optional.empty();
    }
    if (!count.equals("1")) {
      throw new AgentException.Configuration(
          "the service manager passes %s sockets, but only one is used: pass the API's alone"
              .formatted(count));
    }
    try {
      requireSocket();
      try (var passed = new OwnedDescriptor(FIRST_PASSED);
          var nothing = Descriptors.nothing()) {
        Descriptors.replace(STANDARD_INPUT, passed);
        try {
          return Optional.of(listening());
        } finally {
          Descriptors.replace(STANDARD_INPUT, nothing);
        }
      }
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "the socket of the service manager cannot be used: " + e.getMessage(), e);
    }
  }

  /**
   * The number of a descriptor that nobody passed may be one of the virtual machine's own files.
   */
  private static void requireSocket() throws IOException {
    Path passed = Path.of("/proc/self/fd/" + FIRST_PASSED);
    if (!Files.exists(passed, LinkOption.NOFOLLOW_LINKS)
        || !Files.readSymbolicLink(passed).toString().startsWith("socket:")) {
      throw new IOException("descriptor %d is not a socket".formatted(FIRST_PASSED));
    }
  }

  private static Path listening() throws IOException {
    if (System.inheritedChannel() instanceof ServerSocketChannel channel) {
      SocketAddress address = channel.getLocalAddress();
      if (address instanceof UnixDomainSocketAddress unix) {
        return unix.getPath();
      }
    }
    throw new IOException("it is not a listening unix socket");
  }

  /** Output and errors go where they went before, also after the channel was closed. */
  public static void keepingStreams(Closing work) throws Exception {
    try (var output = Descriptors.copy(STANDARD_OUTPUT, FIRST_PASSED);
        var error = Descriptors.copy(STANDARD_ERROR, FIRST_PASSED)) {
      try {
        work.run();
      } finally {
        Descriptors.replace(STANDARD_OUTPUT, output);
        Descriptors.replace(STANDARD_ERROR, error);
      }
    }
  }
}
