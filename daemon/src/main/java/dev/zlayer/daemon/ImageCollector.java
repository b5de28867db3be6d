package dev.zlayer.daemon;

import dev.zlayer.daemon.log.Log;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.image.LocalImages;
import dev.zlayer.json.Json;
import dev.zlayer.port.ImageRemoval;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Threads;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Map;
import java.util.function.IntSupplier;

/**
 * Removes unused images when the disk is fuller than the high watermark, until it is below the low
 * one. Says so by an event before it begins, and by another with what came of it.
 */
final class ImageCollector implements AutoCloseable {
  /** Percent of the disk; a high watermark of 0 means never. */
  record Watermarks(int high, int low) {
    Watermarks {
      if (high != 0 && low >= high) {
        throw new AgentException.Configuration(
            "image_gc_low (%d) has to be below image_gc_high (%d)".formatted(low, high));
      }
    }
  }

  static final String STARTED = "images.gc_started";
  static final String FINISHED = "images.gc_finished";

  private static final Duration BETWEEN = Duration.ofMinutes(1);

  /** Others fill the disk; saying so every minute helps nobody. */
  private static final Duration AFTER_NOTHING = Duration.ofMinutes(30);

  /** What was used a moment ago is about to be used again: a pull comes before its container. */
  private static final Duration IDLE = Duration.ofMinutes(10);

  private final LocalImages images;
  private final StateStore store;
  private final Watermarks watermarks;
  private final IntSupplier usedPercent;
  private final InstantSource clock;
  private final Thread thread;

  private ImageCollector(
      LocalImages images,
      StateStore store,
      Watermarks watermarks,
      IntSupplier usedPercent,
      InstantSource clock,
      Pauses pauses,
      Log log) {
    this.images = images;
    this.store = store;
    this.watermarks = watermarks;
    this.usedPercent = usedPercent;
    this.clock = clock;
    this.thread = Thread.ofVirtual().name("image-gc").unstarted(() -> run(pauses, log));
  }

  static ImageCollector start(
      LocalImages images,
      StateStore store,
      Watermarks watermarks,
      IntSupplier usedPercent,
      InstantSource clock,
      Pauses pauses,
      Log log) {
    var loop = new ImageCollector(images, store, watermarks, usedPercent, clock, pauses, log);
    if (watermarks.high() > 0) {
      loop.thread.start();
    }
    return loop;
  }

  /** How full the file system of a directory is; 0 when nobody can say. */
  static IntSupplier diskOf(Path directory) {
    return () -> {
      try {
        var disk = Files.getFileStore(directory);
        long total = disk.getTotalSpace();
        // as df counts it: what is reserved for root is neither used nor to be had
        long used = total - disk.getUnallocatedSpace();
        long possible = used + disk.getUsableSpace();
        return possible == 0 ? 0 : (int) (100 * used / possible);
      } catch (IOException _) {
        return 0;
      }
    };
  }

  private void run(Pauses pauses, Log log) {
    try {
      while (true) {
        boolean useless = false;
        try {
          useless = check();
        } catch (AgentException e) {
          log.error("unused images could not be removed", e, Map.of());
        }
        pauses.pause(useless ? AFTER_NOTHING : BETWEEN);
      }
    } catch (InterruptedException _) {
      // closed
    }
  }

  /** One round; true when space was needed and there was nothing to remove. */
  private boolean check() {
    int used = usedPercent.getAsInt();
    if (used < watermarks.high()) {
      return false;
    }
    tell(
        STARTED,
        Json.object()
            .put("used_percent", used)
            .put("high_percent", watermarks.high())
            .put("low_percent", watermarks.low()));
    ImageRemoval removal =
        images.reclaim(
            clock.instant().minus(IDLE), () -> usedPercent.getAsInt() <= watermarks.low());
    tell(
        FINISHED,
        Json.object()
            .put("used_percent", usedPercent.getAsInt())
            .put("removed", removal.untagged())
            .put("reclaimed_bytes", removal.reclaimedBytes()));
    return removal.reclaimedBytes() == 0;
  }

  private void tell(String kind, Json.Builder detail) {
    store.commit(Change.of(new Event(clock.instant(), kind, "images", detail.build())));
  }

  @Override
  public void close() {
    thread.interrupt();
    Threads.join(thread);
  }
}
