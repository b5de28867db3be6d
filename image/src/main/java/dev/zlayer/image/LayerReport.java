package dev.zlayer.image;

import dev.zlayer.image.registry.BlobListener;
import dev.zlayer.oci.Digest;
import dev.zlayer.port.PullEvent;
import dev.zlayer.port.PullEvent.Step;
import java.util.function.Consumer;

/**
 * Tells the progress of one layer in the order of its steps, although download and unpacking go on
 * at the same time on two threads: unpacking is told once the download is over. Small moves are not
 * told.
 */
final class LayerReport implements BlobListener {
  private static final long SMALL = 64 << 10;

  private final Digest layer;
  private final long total;
  private final Consumer<PullEvent> events;
  private Step step = Step.WAITING;
  private long told;

  LayerReport(Digest layer, long total, Consumer<PullEvent> events) {
    this.layer = layer;
    this.total = total;
    this.events = events;
  }

  synchronized void step(Step next, long done) {
    step = next;
    told = done;
    events.accept(new PullEvent.LayerProgress(layer, next, done, total));
  }

  @Override
  public synchronized void received(long bytes) {
    if (step == Step.WAITING || bytes < told || bytes - told >= Math.max(SMALL, total / 100)) {
      step(Step.DOWNLOADING, bytes);
    }
  }

  @Override
  public void verifying() {
    step(Step.VERIFYING, total);
  }

  /** So many bytes of the blob have been read for unpacking. */
  synchronized void unpacked(long bytes) {
    if (step == Step.UNPACKING && bytes - told >= Math.max(SMALL, total / 100)) {
      step(Step.UNPACKING, Math.min(bytes, total));
    }
  }
}
