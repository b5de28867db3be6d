package dev.zlayer.host.linux;

import static dev.zlayer.host.linux.Libc.INT;
import static dev.zlayer.host.linux.Libc.LONG;
import static dev.zlayer.host.linux.Libc.POINTER;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The one platform thread that steps into a new network namespace and back. A thread inherits the
 * namespace of the thread that starts it, and waking a virtual thread may start a carrier: so
 * nothing is answered before the thread is home again.
 */
final class NamespaceThread implements AutoCloseable {
  private static final MethodHandle UNSHARE = Libc.bind("unshare", INT, INT);
  private static final MethodHandle SETNS = Libc.bind("setns", INT, INT, INT);
  private static final MethodHandle OPEN = Libc.bindVariadic("open", 2, INT, POINTER, INT);
  private static final MethodHandle CLOSE = Libc.bind("close", INT, INT);
  private static final MethodHandle MOUNT =
      Libc.bind("mount", INT, POINTER, POINTER, POINTER, LONG, POINTER);
  private static final int CLONE_NEWNET = 0x40000000;
  private static final int O_CLOEXEC = 0x80000;
  private static final long MS_BIND = 4096;
  private static final String OWN_NAMESPACE = "/proc/thread-self/ns/net";

  /** Without a file it is the last one. */
  private record Job(
      Optional<Path> file, Optional<Path> from, BlockingQueue<Optional<IOException>> answer) {}

  private final BlockingQueue<Job> jobs = new LinkedBlockingQueue<>();
  private volatile boolean ended;

  NamespaceThread() {
    Thread.ofPlatform().daemon().name("namespaces").start(this::run);
  }

  /**
   * Mounts a namespace on the file, which must exist.
   *
   * @param from one that exists and is as new; without it, one is made
   */
  void create(Path file, Optional<Path> from) throws IOException {
    var job = new Job(Optional.of(file), from, new ArrayBlockingQueue<>(1));
    jobs.add(job);
    if (ended) {
      answerAll(closed());
    }
    Optional<IOException> failure = awaitAnswer(job);
    if (failure.isPresent()) {
      throw failure.get();
    }
  }

  @Override
  public void close() {
    jobs.add(new Job(Optional.empty(), Optional.empty(), new ArrayBlockingQueue<>(1)));
  }

  private static Optional<IOException> awaitAnswer(Job job) {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return job.answer().take();
        } catch (InterruptedException _) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void run() {
    int home = -1;
    try {
      home = open(OWN_NAMESPACE);
      while (!ended) {
        Job job = jobs.take();
        if (job.file().isEmpty()) {
          break;
        }
        job.answer().add(serve(job.file().get(), job.from(), home));
      }
    } catch (IOException e) {
      answerAll(e);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } finally {
      end(home);
    }
  }

  private Optional<IOException> serve(Path file, Optional<Path> from, int home) {
    Optional<IOException> failure = Optional.empty();
    try {
      if (from.isPresent()) {
        enter(from.get());
      } else {
        unshare();
      }
      pinHere(file);
    } catch (IOException e) {
      failure = Optional.of(e);
    }
    try {
      enter(home);
    } catch (IOException e) {
      ended = true; // a thread that cannot go home must not serve again
      failure.ifPresent(e::addSuppressed);
      failure = Optional.of(e);
    }
    return failure;
  }

  private static void unshare() throws IOException {
    try (var call = Libc.call()) {
      call.check((int) UNSHARE.invokeExact(call.errno(), CLONE_NEWNET), "make a network namespace");
    } catch (IOException e) {
      throw e;
    } catch (Throwable e) {
      throw Libc.impossible(e);
    }
  }

  private static void enter(Path namespace) throws IOException {
    int opened = open(namespace.toString());
    try {
      enter(opened);
    } finally {
      close(opened);
    }
  }

  private static void pinHere(Path file) throws IOException {
    try (var call = Libc.call()) {
      Links.up("lo");
      Links.refuseRouters();
      call.check(
          (int)
              MOUNT.invokeExact(
                  call.errno(),
                  call.string(OWN_NAMESPACE),
                  call.string(file.toString()),
                  MemorySegment.NULL,
                  MS_BIND,
                  MemorySegment.NULL),
          "mount a network namespace on " + file);
    } catch (IOException e) {
      throw e;
    } catch (Throwable e) {
      throw Libc.impossible(e);
    }
  }

  private static void enter(int namespace) throws IOException {
    try (var call = Libc.call()) {
      call.check(
          (int) SETNS.invokeExact(call.errno(), namespace, CLONE_NEWNET),
          "enter a network namespace");
    } catch (IOException e) {
      throw e;
    } catch (Throwable e) {
      throw Libc.impossible(e);
    }
  }

  private static int open(String namespace) throws IOException {
    try (var call = Libc.call()) {
      return call.check(
          (int) OPEN.invokeExact(call.errno(), call.string(namespace), O_CLOEXEC),
          "open " + namespace);
    } catch (IOException e) {
      throw e;
    } catch (Throwable e) {
      throw Libc.impossible(e);
    }
  }

  private void end(int home) {
    ended = true;
    answerAll(closed());
    if (home >= 0) {
      close(home);
    }
  }

  private static void close(int descriptor) {
    try (var call = Libc.call()) {
      int _ = (int) CLOSE.invokeExact(call.errno(), descriptor);
    } catch (Throwable e) {
      throw Libc.impossible(e);
    }
  }

  private static IOException closed() {
    return new IOException("no more namespaces can be made here: this was closed");
  }

  private void answerAll(IOException failure) {
    for (Job job = jobs.poll(); job != null; job = jobs.poll()) {
      boolean _ = job.answer().offer(Optional.of(failure));
    }
  }
}
