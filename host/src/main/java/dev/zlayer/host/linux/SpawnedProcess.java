package dev.zlayer.host.linux;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A program on three pipes that is a child of this process with no program between: Java starts a
 * helper first, and a thread for each child that waits for its end. One thread waits for all these.
 */
public final class SpawnedProcess extends Process {
  private static final int TERMINATE = 15;
  private static final int KILL = 9;
  private static final int LOST = -1;

  private final ProcessHandle self;
  private final PidFd handle;
  private final OutputStream stdin;
  private final ProcessOutput stdout;
  private final ProcessOutput stderr;
  private final CompletableFuture<Integer> code = new CompletableFuture<>();

  private SpawnedProcess(
      ProcessHandle self,
      PidFd handle,
      OutputStream stdin,
      ProcessOutput stdout,
      ProcessOutput stderr) {
    this.self = self;
    this.handle = handle;
    this.stdin = stdin;
    this.stdout = stdout;
    this.stderr = stderr;
  }

  /** Whether this host can start any. */
  public static boolean possible() {
    return Spawn.known();
  }

  /**
   * Starts the program; it alone has the other ends of its outputs then.
   *
   * @param copy is started instead of the program of the first argument
   * @param environment all of it, each as {@code NAME=value}
   * @throws ErrnoException there is no such program or directory, or it cannot be executed
   */
  public static SpawnedProcess start(
      Optional<SealedCopy> copy,
      List<String> arguments,
      List<String> environment,
      Optional<Path> directory,
      ProcessOutput stdout,
      ProcessOutput stderr)
      throws IOException {
    Descriptors.Pipe pipe = Descriptors.pipe();
    try (OwnedDescriptor reading = pipe.reading();
        OwnedDescriptor writing = pipe.writing()) {
      OutputStream stdin = stream(writing);
      try {
        List<OwnedDescriptor> given = List.of(reading, stdout.writing(), stderr.writing());
        long pid =
            copy.isPresent()
                ? Spawn.start(copy.get().descriptor(), arguments, environment, directory, given)
                : Spawn.start(arguments, environment, directory, given);
        stdout.given();
        stderr.given();
        return watched(ProcessHandle.of(pid).orElseThrow(), stdin, stdout, stderr);
      } catch (IOException | RuntimeException e) {
        stdin.close();
        throw e;
      }
    }
  }

  /** Nobody but us learns of its end, so until then its number stays its own. */
  private static SpawnedProcess watched(
      ProcessHandle child, OutputStream stdin, ProcessOutput stdout, ProcessOutput stderr)
      throws IOException {
    PidFd handle;
    try {
      handle = PidFd.open(child.pid());
    } catch (IOException e) {
      boolean _ = child.destroyForcibly();
      throw e;
    }
    var process = new SpawnedProcess(child, handle, stdin, stdout, stderr);
    try {
      process.watch();
      return process;
    } catch (IOException e) {
      boolean _ = child.destroyForcibly();
      handle.close();
      throw e;
    }
  }

  /** One of Java's own, which lets a virtual thread wait for a reader that is slow. */
  private static OutputStream stream(OwnedDescriptor writing) throws IOException {
    try (var using = writing.use()) {
      return new FileOutputStream("/proc/self/fd/" + using.number());
    }
  }

  private void watch() throws IOException {
    long _ = ProcessOutput.loop().add(handle.descriptor(), this::reap);
  }

  private void reap() {
    int ended = Spawn.exitCode(self.pid()).orElse(LOST); // who can be read has ended
    handle.close();
    code.complete(ended);
  }

  @Override
  public long pid() {
    return self.pid();
  }

  @Override
  public ProcessHandle toHandle() {
    return self;
  }

  @Override
  public OutputStream getOutputStream() {
    return stdin;
  }

  @Override
  public InputStream getInputStream() {
    return stdout;
  }

  @Override
  public InputStream getErrorStream() {
    return stderr;
  }

  @Override
  public CompletableFuture<Process> onExit() {
    return code.thenApply(_ -> this);
  }

  @Override
  public int waitFor() throws InterruptedException {
    try {
      return code.get();
    } catch (ExecutionException e) {
      throw new IllegalStateException(e); // never completed so
    }
  }

  @Override
  public boolean waitFor(long timeout, TimeUnit unit) throws InterruptedException {
    try {
      int _ = code.get(timeout, unit);
      return true;
    } catch (TimeoutException _) {
      return false;
    } catch (ExecutionException e) {
      throw new IllegalStateException(e); // never completed so
    }
  }

  @Override
  public int exitValue() {
    if (!code.isDone()) {
      throw new IllegalThreadStateException("process %d has not ended".formatted(pid()));
    }
    return code.join();
  }

  @Override
  public boolean isAlive() {
    return !code.isDone();
  }

  @Override
  public boolean supportsNormalTermination() {
    return true;
  }

  @Override
  public void destroy() {
    signal(TERMINATE);
  }

  @Override
  public Process destroyForcibly() {
    signal(KILL);
    return this;
  }

  private void signal(int number) {
    try {
      handle.signal(number);
    } catch (ErrnoException _) {
      // it has ended
    }
  }
}
