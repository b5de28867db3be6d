package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The one platform thread that steps into new network namespaces and back. A thread inherits the
 * namespace of the thread that starts it, and waking a virtual thread may start a carrier: so
 * nothing is answered before the thread is home again.
 */
final class NamespaceThread implements AutoCloseable {
  private static final Libc.Function UNSHARE = Libc.bind("unshare");
  private static final Libc.Function SETNS = Libc.bind("setns");
  private static final Libc.Function OPEN = Libc.bind("open");
  private static final Libc.Function CLOSE = Libc.bind("close");
  private static final Libc.Function MOUNT = Libc.bind("mount");
  private static final int CLONE_NEWNET = 0x40000000;
  private static final int O_CLOEXEC = 0x80000;
  private static final long MS_BIND = 4096;
  private static final String OWN_NAMESPACE = "/proc/thread-self/ns/net";

  /** Something to do in a namespace. */
  @FunctionalInterface
  private interface Work {
    void run() throws IOException;
  }

  /**
   * @param first done before the thread leaves its own namespace
   * @param from the namespace to enter; a new one when absent
   * @param inside without it, this is the last job
   */
  private record Job(
      Work first,
      Optional<Path> from,
      Optional<Work> inside,
      BlockingQueue<Optional<IOException>> answer) {}

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
    run(() -> {}, from, () -> pinHere(file));
  }

  /** Connects the namespace that is mounted on the file. */
  void connect(Path file, BridgePort port) throws IOException {
    run(() -> lay(file, port), Optional.of(file), port::configure);
  }

  private static void lay(Path file, BridgePort port) throws IOException {
    int namespace = open(file.toString());
    try {
      port.lay(namespace);
    } finally {
      close(namespace);
    }
  }

  private void run(Work first, Optional<Path> from, Work inside) throws IOException {
    var job = new Job(first, from, Optional.of(inside), new ArrayBlockingQueue<>(1));
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
    jobs.add(new Job(() -> {}, Optional.empty(), Optional.empty(), new ArrayBlockingQueue<>(1)));
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
        if (job.inside().isEmpty()) {
          break;
        }
        job.answer().add(serve(job, job.inside().get(), home));
      }
    } catch (IOException e) {
      answerAll(e);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } finally {
      end(home);
    }
  }

  private Optional<IOException> serve(Job job, Work inside, int home) {
    Optional<IOException> failure = Optional.empty();
    try {
      job.first().run();
      if (job.from().isPresent()) {
        enter(job.from().get());
      } else {
        unshare();
      }
      inside.run();
    } catch (IOException e) {
      failure = Optional.of(e);
    } catch (RuntimeException | Error e) { // who asked waits for an answer, whatever it is
      failure = Optional.of(new IOException("cannot change a network namespace: " + e, e));
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
      call.check(UNSHARE.call(call, CLONE_NEWNET), "make a network namespace");
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
          MOUNT.call(
              call,
              call.string(OWN_NAMESPACE).address(),
              call.string(file.toString()).address(),
              0,
              MS_BIND,
              0),
          "mount a network namespace on " + file);
    }
  }

  private static void enter(int namespace) throws IOException {
    try (var call = Libc.call()) {
      call.check(SETNS.call(call, namespace, CLONE_NEWNET), "enter a network namespace");
    }
  }

  private static int open(String namespace) throws IOException {
    try (var call = Libc.call()) {
      return call.check(
          OPEN.call(call, call.string(namespace).address(), O_CLOEXEC), "open " + namespace);
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
      int _ = CLOSE.call(call, descriptor);
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
