package dev.zlayer.host.linux;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Stream;

/**
 * Starts a child of this process without any program between. It gets exactly the descriptors that
 * it is given, numbered from 0, since Java opens its own so that a child would inherit them; and
 * signals as they are by default, whatever this process does with its own.
 */
final class Spawn {
  private static final String CLOSE_FROM = "posix_spawn_file_actions_addclosefrom_np";
  private static final String CHANGE_DIRECTORY = "posix_spawn_file_actions_addchdir_np";
  private static final boolean KNOWN = Stream.of(CLOSE_FROM, CHANGE_DIRECTORY).allMatch(Libc::has);
  private static final int NO_HANG = 1;
  private static final int LOST = -1;

  private Spawn() {}

  /** Whether the C library can do it: GNU's can since 2.34. */
  static boolean known() {
    return KNOWN;
  }

  /** The child's number; {@link #exitCode} has to be asked until it answers. */
  static long start(
      List<String> arguments,
      List<String> environment,
      Optional<Path> directory,
      List<OwnedDescriptor> descriptors)
      throws IOException {
    return start(arguments.getFirst(), arguments, environment, directory, descriptors);
  }

  /** The same with a program that is open; the child has it as one descriptor more. */
  static long start(
      OwnedDescriptor program,
      List<String> arguments,
      List<String> environment,
      Optional<Path> directory,
      List<OwnedDescriptor> descriptors)
      throws IOException {
    var all = new ArrayList<>(descriptors);
    all.add(program);
    String path = "/proc/self/fd/" + descriptors.size();
    return start(path, arguments, environment, directory, all);
  }

  private static long start(
      String program,
      List<String> arguments,
      List<String> environment,
      Optional<Path> directory,
      List<OwnedDescriptor> descriptors)
      throws IOException {
    var opened = new ArrayList<OwnedDescriptor>();
    var used = new ArrayList<OwnedDescriptor.Use>();
    try {
      for (OwnedDescriptor descriptor : descriptors) {
        used.add(descriptor.use());
        if (used.getLast().number() < descriptors.size()) {
          // the child would overwrite it with another one before its turn
          opened.add(Descriptors.copy(descriptor, descriptors.size()));
          used.removeLast().close();
          used.add(opened.getLast().use());
        }
      }
      List<Integer> numbers = used.stream().map(OwnedDescriptor.Use::number).toList();
      return Functions.start(program, arguments, environment, directory, numbers);
    } finally {
      used.forEach(OwnedDescriptor.Use::close);
      opened.forEach(OwnedDescriptor::close);
    }
  }

  /**
   * How a child ended, once: its code, or 128 and the number of the signal that ended it. Empty
   * while it runs.
   */
  static OptionalInt exitCode(long child) {
    try (var kernel = new KernelCalls()) {
      MemorySegment status = kernel.struct();
      long ended = kernel.call(Syscall.WAIT4, child, status.address(), NO_HANG, 0);
      if (ended == 0) {
        return OptionalInt.empty();
      }
      int word = status.get(ValueLayout.JAVA_INT, 0);
      int signal = word & 0x7f;
      return OptionalInt.of(ended < 0 ? LOST : signal == 0 ? word >> 8 & 0xff : 128 + signal);
    }
  }

  /** Bound only where they are known. */
  private static final class Functions {
    private static final long ACTIONS_BYTES = 256; // posix_spawn_file_actions_t has 80
    private static final long ATTRIBUTES_BYTES = 1024; // posix_spawnattr_t has 336
    private static final long SIGNALS_BYTES = 128; // sigset_t
    private static final short DEFAULT_SIGNALS = 0x04;
    private static final short SIGNAL_MASK = 0x08;

    private static final Libc.Function INIT = Libc.bind("posix_spawn_file_actions_init");
    private static final Libc.Function DESTROY = Libc.bind("posix_spawn_file_actions_destroy");
    private static final Libc.Function ADD_DUP2 = Libc.bind("posix_spawn_file_actions_adddup2");
    private static final Libc.Function ADD_CLOSE_FROM = Libc.bind(CLOSE_FROM);
    private static final Libc.Function ADD_CHDIR = Libc.bind(CHANGE_DIRECTORY);
    private static final Libc.Function SPAWN = Libc.bind("posix_spawnp");
    private static final MemorySegment ATTRIBUTES = attributes();

    /** The same for all children: no signal is blocked, ignored or handled. */
    private static MemorySegment attributes() {
      Libc.Function init = Libc.bind("posix_spawnattr_init");
      Libc.Function flags = Libc.bind("posix_spawnattr_setflags");
      Libc.Function defaults = Libc.bind("posix_spawnattr_setsigdefault");
      MemorySegment attributes = Arena.global().allocate(ATTRIBUTES_BYTES, 16);
      try (var call = Libc.call()) {
        MemorySegment all = call.allocate(SIGNALS_BYTES).fill((byte) 0xff);
        // the mask is empty from the beginning
        check(init.call(call, attributes.address()), "prepare");
        check(defaults.call(call, attributes.address(), all.address()), "prepare");
        short both = DEFAULT_SIGNALS | SIGNAL_MASK;
        check(flags.call(call, attributes.address(), both), "prepare");
        return attributes;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    static long start(
        String program,
        List<String> arguments,
        List<String> environment,
        Optional<Path> directory,
        List<Integer> descriptors)
        throws IOException {
      try (var call = Libc.call()) {
        MemorySegment actions = call.allocate(ACTIONS_BYTES);
        check(INIT.call(call, actions.address()), "prepare");
        try {
          fill(call, actions, directory, descriptors);
          MemorySegment pid = call.allocate(Long.BYTES);
          check(
              SPAWN.call(
                  call,
                  pid.address(),
                  call.string(program).address(),
                  actions.address(),
                  ATTRIBUTES.address(),
                  call.strings(arguments).address(),
                  call.strings(environment).address()),
              "start " + arguments.getFirst());
          return pid.get(ValueLayout.JAVA_INT, 0);
        } finally {
          int ignored = DESTROY.call(call, actions.address());
          assert ignored == 0;
        }
      }
    }

    private static void fill(
        Libc.Call call, MemorySegment actions, Optional<Path> directory, List<Integer> descriptors)
        throws IOException {
      if (directory.isPresent()) {
        MemorySegment path = call.string(directory.get().toString());
        check(ADD_CHDIR.call(call, actions.address(), path.address()), "prepare");
      }
      for (int i = 0; i < descriptors.size(); i++) {
        int source = descriptors.get(i);
        check(ADD_DUP2.call(call, actions.address(), source, i), "prepare");
      }
      check(ADD_CLOSE_FROM.call(call, actions.address(), descriptors.size()), "prepare");
    }

    /** These functions return the number of the failure. */
    private static void check(int error, String doing) throws ErrnoException {
      if (error != 0) {
        throw new ErrnoException(doing, error);
      }
    }
  }
}
