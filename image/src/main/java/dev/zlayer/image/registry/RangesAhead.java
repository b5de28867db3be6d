package dev.zlayer.image.registry;

import dev.zlayer.error.AgentException;
import dev.zlayer.image.store.Ingest;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * Fetches the next parts of a large blob over several connections at a time and delivers them in
 * their order, for registries that limit what one connection gets. Parts wait in a file without a
 * name, which has two places for each connection so that none waits for what is delivered. The
 * store sees only what came in order: a killed download resumes as if there had been one
 * connection.
 *
 * <p>Owned by the thread that made it. A part that fails is not tried again here: its first missing
 * byte is where {@link #deliver} stops, and no further parts are begun.
 */
final class RangesAhead implements AutoCloseable {
  private static final int COPY = 64 << 10;

  /**
   * How a large blob is divided.
   *
   * @param waiting the share of its time from which on a single connection is too slow: below it,
   *     this machine has no time for more bytes anyway
   */
  record Division(int part, int connections, double waiting) {
    /** Parts long enough to make up for the round trips of their requests. */
    static final Division DEFAULT = new Division(8 << 20, 4, 0.5);

    int places() {
      return 2 * connections;
    }

    boolean pays(long rest) {
      return rest > (long) places() * part;
    }
  }

  /** Asks for the bytes between two positions and makes sure that they are what is answered. */
  @FunctionalInterface
  interface Source {
    RegistryResponse open(long from, long until) throws IOException, InterruptedException;
  }

  /** Bytes on their way to one place of the file. */
  private static final class Part {
    private final long from;
    private final long until;
    private final long place;
    // guarded by this
    private long arrived;
    private boolean over;

    Part(long from, long until, long place) {
      this.from = from;
      this.until = until;
      this.place = place;
    }

    synchronized void add(int count) {
      arrived += count;
      notifyAll();
    }

    synchronized void end() {
      over = true;
      notifyAll();
    }

    /** How much is there beyond {@code delivered}; nothing when no more will come. */
    synchronized long await(long delivered) throws InterruptedException {
      while (arrived == delivered && !over) {
        wait(); // for a request whose own limits end it
      }
      return arrived - delivered;
    }
  }

  private final Ingest into;
  private final Division division;
  private final Source source;
  private final FileChannel file;
  private final TaskScope scope;
  private final ArrayDeque<Part> parts = new ArrayDeque<>();
  private long next;
  private boolean failed;

  /** What ended the fetching of a part that no server is to blame for. */
  private volatile @Nullable Throwable fault;

  /** Begins to fetch what follows the position of {@code into}. */
  RangesAhead(Ingest into, Division division, Source source) throws IOException {
    this.into = into;
    this.division = division;
    this.source = source;
    this.next = into.position();
    this.file = into.scratch();
    this.scope =
        TaskScope.ofPlatformThreads("ranges-" + into.digest().brief(), division.connections());
    for (int i = 0; i < division.places(); i++) {
      begin((long) i * division.part());
    }
  }

  private void begin(long place) {
    if (failed || next >= into.size()) {
      return;
    }
    var part = new Part(next, Math.min(next + division.part(), into.size()), place);
    next = part.until;
    parts.add(part);
    scope.fork(
        () -> {
          fetch(part);
          return true;
        });
  }

  private void fetch(Part part) throws InterruptedException {
    try (RegistryResponse answer = source.open(part.from, part.until)) {
      long position = part.place;
      long end = part.place + part.until - part.from;
      @Nullable ByteBuffer bytes = answer.body().next();
      while (bytes != null && bytes.remaining() <= end - position) {
        int count = bytes.remaining();
        while (bytes.hasRemaining()) {
          position += file.write(bytes, position);
        }
        part.add(count);
        bytes = answer.body().next();
      }
    } catch (IOException | AgentException _) {
      // whoever delivers finds the gap, asks for it and learns the reason
    } catch (RuntimeException | Error e) {
      fault = e; // no registry is to blame: to ask again would hide it
    } finally {
      part.end();
    }
  }

  /** Hands over, as they arrive, all parts that follow each other without a gap. */
  void deliver(BlobListener listener) throws IOException, InterruptedException {
    while (!parts.isEmpty() && parts.getFirst().from == into.position()) {
      Part part = parts.removeFirst();
      copy(part, listener);
      requireNoFault();
      failed |= into.position() < part.until;
      begin(part.place);
    }
  }

  private void requireNoFault() {
    switch (fault) {
      case Error e -> throw e;
      case RuntimeException e -> throw e;
      case null, default -> {} // nothing else is caught
    }
  }

  private void copy(Part part, BlobListener listener) throws IOException, InterruptedException {
    ByteBuffer buffer = ByteBuffer.allocate(COPY);
    long delivered = 0;
    long ready = part.await(delivered);
    while (ready > 0) {
      buffer.clear().limit((int) Math.min(COPY, ready));
      delivered += file.read(buffer, part.place + delivered);
      into.append(buffer.flip());
      listener.received(into.position());
      ready = part.await(delivered);
    }
  }

  /** Where the next part begins that is on its way, or the end of the blob. */
  long nextPart() {
    while (!parts.isEmpty() && parts.getFirst().from < into.position()) {
      parts.removeFirst(); // an answer without a length was longer than asked for
    }
    return parts.isEmpty() ? into.size() : parts.getFirst().from;
  }

  @Override
  public void close() throws IOException {
    scope.close();
    file.close();
  }
}
