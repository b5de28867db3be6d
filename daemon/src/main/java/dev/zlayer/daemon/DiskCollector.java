package dev.zlayer.daemon;

import dev.zlayer.daemon.log.Log;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DiskReserve;
import dev.zlayer.image.LocalImages;
import dev.zlayer.json.Json;
import dev.zlayer.port.ImageRemoval;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Threads;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;

/**
 * Removes unused images, and then kept logs, when the disk is fuller than the high watermark, until
 * it is below the low one. Says so by an event before it begins with either, and by another with
 * what came of it.
 */
final class DiskCollector implements AutoCloseable {
  /** Percent of the disk; a high watermark of 0 means never. */
  record Watermarks(int high, int low) {
    Watermarks {
      if (high != 0 && low >= high) {
        throw new AgentException.Configuration(
            "image_gc_low (%d) has to be below image_gc_high (%d)".formatted(low, high));
      }
    }
  }

  /** What can remove kept logs. */
  @FunctionalInterface
  interface Logs {
    /** Removes what ended before a time until there is enough space; returns the bytes. */
    long reclaim(Instant before, BooleanSupplier enough);
  }

  static final String STARTED = "images.gc_started";
  static final String FINISHED = "images.gc_finished";
  static final String LOGS_STARTED = "logs.gc_started";
  static final String LOGS_FINISHED = "logs.gc_finished";

  private static final Duration BETWEEN = Duration.ofMinutes(1);

  /** Others fill the disk; saying so every minute helps nobody. */
  private static final Duration AFTER_NOTHING = Duration.ofMinutes(30);

  /** What was used a moment ago is about to be used again: a pull comes before its container. */
  private static final Duration IDLE = Duration.ofMinutes(10);

  private final LocalImages images;
  private final Logs logs;
  private final StateStore store;
  private final DiskReserve reserve;
  private final Watermarks watermarks;
  private final IntSupplier usedPercent;
  private final InstantSource clock;
  private final Thread thread;

  private DiskCollector(
      LocalImages images,
      Logs logs,
      StateStore store,
      DiskReserve reserve,
      Watermarks watermarks,
      IntSupplier usedPercent,
      InstantSource clock,
      Pauses pauses,
      Log log) {
    this.images = images;
    this.logs = logs;
    this.store = store;
    this.reserve = reserve;
    this.watermarks = watermarks;
    this.usedPercent = usedPercent;
    this.clock = clock;
    this.thread = Thread.ofVirtual().name("disk-gc").unstarted(() -> run(pauses, log));
  }

  static DiskCollector start(
      LocalImages images,
      Logs logs,
      StateStore store,
      DiskReserve reserve,
      Watermarks watermarks,
      IntSupplier usedPercent,
      InstantSource clock,
      Pauses pauses,
      Log log) {
    var loop =
        new DiskCollector(
            images, logs, store, reserve, watermarks, usedPercent, clock, pauses, log);
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
          log.error("unused images or kept logs could not be removed", e, Map.of());
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
    reserve.release(); // on a disk without any space there would be none for the event
    try {
      return collect(used);
    } finally {
      reserve.restore();
    }
  }

  private boolean collect(int used) {
    tell(STARTED, "images", watermarksAt(used));
    ImageRemoval removal = images.reclaim(clock.instant().minus(IDLE), this::enough);
    tell(
        FINISHED,
        "images",
        Json.object()
            .put("used_percent", usedPercent.getAsInt())
            .put("removed", removal.untagged())
            .put("reclaimed_bytes", removal.reclaimedBytes()));
    return removal.reclaimedBytes() + logs() == 0;
  }

  /** The bytes of output that were removed, since images were not enough. */
  private long logs() {
    int used = usedPercent.getAsInt();
    if (used <= watermarks.low()) {
      return 0;
    }
    tell(LOGS_STARTED, "logs", watermarksAt(used));
    long reclaimed = logs.reclaim(clock.instant().minus(IDLE), this::enough);
    tell(
        LOGS_FINISHED,
        "logs",
        Json.object()
            .put("used_percent", usedPercent.getAsInt())
            .put("reclaimed_bytes", reclaimed));
    return reclaimed;
  }

  private boolean enough() {
    return usedPercent.getAsInt() <= watermarks.low();
  }

  private Json.Builder watermarksAt(int used) {
    return Json.object()
        .put("used_percent", used)
        .put("high_percent", watermarks.high())
        .put("low_percent", watermarks.low());
  }

  private void tell(String kind, String subject, Json.Builder detail) {
    store.commit(Change.of(new Event(clock.instant(), kind, subject, detail.build())));
  }

  @Override
  public void close() {
    thread.interrupt();
    Threads.join(thread);
  }
}
