package dev.zlayer.host.linux;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * Where an OCI runtime sends the master of the terminal that it made inside a container, once. Who
 * has the master reads what the terminal shows to its last byte and sets its size directly.
 */
public final class ConsoleSocket implements AutoCloseable {
  private static final String NAME = "console";
  private static final int AF_UNIX = 1;
  private static final int SOCK_STREAM = 1;
  private static final int SOCK_CLOEXEC = 0x80000;
  private static final int SOL_SOCKET = 1;
  private static final int SCM_RIGHTS = 1;
  private static final int MSG_CMSG_CLOEXEC = 0x40000000;
  private static final int MAX_PATH = 107;
  private static final short POLLIN = 1;
  private static final long ENTRY = 8; // struct pollfd
  private static final Duration PAUSE = Duration.ofMillis(1);
  private static final int HEADER = 16; // struct cmsghdr
  private static final int CONTROL = 64; // room for more than the one descriptor that is expected
  private static final Libc.Function SOCKET = Libc.bind("socket");
  private static final Libc.Function BIND = Libc.bind("bind");
  private static final Libc.Function LISTEN = Libc.bind("listen");
  private static final Libc.Function ACCEPT = Libc.bind("accept4");
  private static final Libc.Function RECEIVE = Libc.bind("recvmsg");
  private static final Libc.Function POLL = Libc.bind("poll");

  private final OwnedDescriptor listening;
  private final Path path;

  private ConsoleSocket(OwnedDescriptor listening, Path path) {
    this.listening = listening;
    this.path = path;
  }

  /** Makes the socket in a directory of the caller, who removes both. */
  public static ConsoleSocket open(Path directory) throws IOException {
    try (OwnedDescriptor held = RootedFiles.openRoot(directory);
        var using = held.use();
        var call = Libc.call()) {
      int fd = SOCKET.call(call, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      var socket = new OwnedDescriptor(call.check(fd, "make a socket"));
      try {
        // by way of the open directory, since the whole path may be too long for a socket
        byte[] name =
            "/proc/self/fd/%d/%s".formatted(using.number(), NAME).getBytes(StandardCharsets.UTF_8);
        MemorySegment address = call.allocate(Short.BYTES + MAX_PATH + 1L);
        address.set(ValueLayout.JAVA_SHORT, 0, (short) AF_UNIX);
        MemorySegment.copy(name, 0, address, ValueLayout.JAVA_BYTE, Short.BYTES, name.length);
        Path path = directory.resolve(NAME);
        call.check(BIND.call(call, fd, address.address(), address.byteSize()), "bind " + path);
        call.check(LISTEN.call(call, fd, 1), "listen on " + path);
        return new ConsoleSocket(socket, path);
      } catch (Throwable e) {
        socket.close();
        throw e;
      }
    }
  }

  public Path path() {
    return path;
  }

  /**
   * Waits for the terminal; empty when who should send it has ended without.
   *
   * @throws AgentException.Timeout the deadline passed first
   */
  public Optional<PseudoTerminal> receive(Process sender, Deadline deadline)
      throws IOException, InterruptedException {
    if (!await(listening, sender, deadline)) {
      return Optional.empty();
    }
    try (OwnedDescriptor connection = accept()) {
      return await(connection, sender, deadline) ? received(connection) : Optional.empty();
    }
  }

  /** Whether there is something to read; what was sent before the end counts. */
  private static boolean await(OwnedDescriptor descriptor, Process sender, Deadline deadline)
      throws IOException, InterruptedException {
    while (!deadline.passed()) {
      boolean ended = !sender.isAlive();
      if (ready(descriptor)) {
        return true;
      }
      if (ended) {
        return false;
      }
      Pauses.REAL.pause(PAUSE); // a wait in the kernel would keep other tasks from this thread
    }
    throw new AgentException.Timeout("waiting for a terminal", deadline.limit());
  }

  private static boolean ready(OwnedDescriptor descriptor) throws IOException {
    try (var using = descriptor.use();
        var call = Libc.call()) {
      MemorySegment entry = call.allocate(ENTRY);
      entry.set(ValueLayout.JAVA_INT, 0, using.number());
      entry.set(ValueLayout.JAVA_SHORT, 4, POLLIN);
      int count = POLL.call(call, entry.address(), 1, 0);
      boolean interrupted = count < 0 && call.errnoValue() == ErrnoException.EINTR;
      return !interrupted && call.check(count, "poll") > 0;
    }
  }

  private OwnedDescriptor accept() throws IOException {
    try (var using = listening.use();
        var call = Libc.call()) {
      int fd = ACCEPT.call(call, using.number(), 0, 0, SOCK_CLOEXEC);
      return new OwnedDescriptor(call.check(fd, "accept at " + path));
    }
  }

  /** The terminal in a message; runc adds its name as the content, crun a single byte. */
  private static Optional<PseudoTerminal> received(OwnedDescriptor connection) throws IOException {
    try (var using = connection.use();
        var call = Libc.call()) {
      MemorySegment content = call.allocate(4096);
      MemorySegment vector = call.allocate(16);
      vector.set(ValueLayout.ADDRESS, 0, content);
      vector.set(ValueLayout.JAVA_LONG, 8, content.byteSize());
      MemorySegment control = call.allocate(CONTROL);
      MemorySegment message = call.allocate(56); // struct msghdr
      message.set(ValueLayout.ADDRESS, 16, vector);
      message.set(ValueLayout.JAVA_LONG, 24, 1);
      message.set(ValueLayout.ADDRESS, 32, control);
      message.set(ValueLayout.JAVA_LONG, 40, CONTROL);
      long count;
      do {
        count = RECEIVE.callLong(call, using.number(), message.address(), MSG_CMSG_CLOEXEC);
      } while (count < 0 && call.errnoValue() == ErrnoException.EINTR);
      call.check(count, "receive a terminal");
      boolean rights =
          message.get(ValueLayout.JAVA_LONG, 40) >= HEADER + Integer.BYTES
              && control.get(ValueLayout.JAVA_INT, 8) == SOL_SOCKET
              && control.get(ValueLayout.JAVA_INT, 12) == SCM_RIGHTS;
      return rights
          ? Optional.of(
              PseudoTerminal.received(
                  new OwnedDescriptor(control.get(ValueLayout.JAVA_INT, HEADER))))
          : Optional.empty();
    }
  }

  @Override
  public void close() {
    listening.close();
  }
}
