package dev.zlayer.engine.s3;

import dev.zlayer.engine.s3.S3Store.Part;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import software.amazon.awssdk.services.s3.model.CompletedPart;

/**
 * Takes the content of one object in order and sends it, in parts when it is long. One part is in
 * memory at a time. Unless it is finished, nothing of it stays in the store.
 */
final class Upload implements AutoCloseable {
  static final int USUAL_PART = 8 << 20;

  private static final int MOST_PARTS = 10_000;

  private final S3Store store;
  private final String key;
  private final byte[] buffer;
  private final boolean whole;
  private final List<CompletedPart> parts = new ArrayList<>();
  private Optional<String> id = Optional.empty();
  private int filled;

  Upload(S3Store store, String key, long size) {
    this.store = store;
    this.key = key;
    this.whole = size <= USUAL_PART;
    this.buffer = new byte[whole ? (int) size : partSize(size)];
  }

  static int partSize(long size) {
    return (int) Math.max(USUAL_PART, Math.ceilDiv(size, (long) MOST_PARTS));
  }

  void write(byte[] bytes, int from, int length) {
    int at = from;
    int left = length;
    while (left > 0) {
      int now = Math.min(left, buffer.length - filled);
      System.arraycopy(bytes, at, buffer, filled, now);
      filled += now;
      at += now;
      left -= now;
      if (!whole && filled == buffer.length) {
        send();
      }
    }
  }

  /** For holes in files. */
  void zeros(long count) {
    var nothing = new byte[64 << 10];
    for (long left = count; left > 0; left -= nothing.length) {
      write(nothing, 0, (int) Math.min(left, nothing.length));
    }
  }

  void finish() {
    if (whole) {
      store.put(key, new Part(buffer, filled));
      return;
    }
    if (filled > 0) {
      send();
    }
    store.complete(key, id.orElseThrow(), parts);
    id = Optional.empty();
  }

  @Override
  public void close() {
    if (id.isPresent()) {
      boolean interrupted = Thread.interrupted(); // or the request would not be sent
      try {
        store.abort(key, id.get());
      } catch (S3Failure _) {
        // stores give up what is left after a time of their own
      } finally {
        if (interrupted) {
          Thread.currentThread().interrupt();
        }
      }
    }
  }

  private void send() {
    if (id.isEmpty()) {
      id = Optional.of(store.begin(key, buffer.length));
    }
    parts.add(store.part(key, id.get(), parts.size() + 1, new Part(buffer, filled)));
    filled = 0;
  }
}
