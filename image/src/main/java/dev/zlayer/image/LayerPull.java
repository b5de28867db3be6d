package dev.zlayer.image;

import dev.zlayer.image.store.Ingest;
import dev.zlayer.image.store.Leases;
import dev.zlayer.oci.Digest;
import dev.zlayer.port.ImageDetails.Layer;
import dev.zlayer.port.PullEvent;
import dev.zlayer.port.PullEvent.Step;
import dev.zlayer.task.KeyedLock;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/**
 * Brings one layer here: downloads its blob and, while it arrives, unpacks it. Unpacking sees bytes
 * that are not yet proven, which is safe: it verifies the diff id itself before anything becomes
 * visible.
 *
 * @param busy one lock per blob: whoever comes second finds it done
 * @param slots how many layers may be on their way
 */
record LayerPull(ImageLayout layout, KeyedLock<Digest> busy, Semaphore slots) {
  /** Returns when blob and layer are here. */
  void run(BlobSource from, Layer layer, Leases.Lease lease, Consumer<PullEvent> events)
      throws IOException, InterruptedException {
    lease.add(layer.digest());
    layer.diffId().ifPresent(lease::add);
    var report = new LayerReport(layer.digest(), layer.bytes(), events);
    if (blobHere(layer) && layerHere(layer)) {
      report.step(Step.PRESENT, layer.bytes());
      return;
    }
    report.step(Step.WAITING, 0);
    try (var _ = busy.lock(layer.digest())) {
      slots.acquire();
      try {
        bring(from, layer, report);
      } finally {
        slots.release();
      }
    }
    report.step(Step.DONE, layer.bytes());
  }

  private void bring(BlobSource from, Layer layer, LayerReport report)
      throws IOException, InterruptedException {
    if (!blobHere(layer) && !layerHere(layer)) {
      downloadAndUnpack(from, layer, layer.diffId().orElseThrow(), report);
    } else if (!blobHere(layer)) {
      try (Ingest ingest = layout.content().ingest(layer.digest(), layer.bytes())) {
        from.blob(ingest, report);
      }
    } else if (!layerHere(layer)) {
      unpack(layer.digest(), layer.diffId().orElseThrow(), report);
    }
  }

  private void downloadAndUnpack(BlobSource from, Layer layer, Digest diffId, LayerReport report)
      throws IOException, InterruptedException {
    var failure = new AtomicReference<IOException>();
    int life;
    int lives;
    try (Ingest ingest = layout.content().ingest(layer.digest(), layer.bytes())) {
      life = ingest.restarts();
      InputStream arriving = ingest.follow();
      try (var scope = TaskScope.ofPlatformThreads("layer-" + layer.digest().brief())) {
        scope.fork(() -> download(from, ingest, report));
        scope.fork(() -> unpackArriving(diffId, arriving, report, failure));
        scope.join();
      }
      lives = ingest.restarts();
    }
    IOException failed = failure.get();
    if (failed != null) {
      if (lives == life) {
        throw failed;
      }
      unpack(layer.digest(), diffId, report); // what was unpacked before was not the blob
    }
  }

  private static boolean download(BlobSource from, Ingest ingest, LayerReport report)
      throws IOException, InterruptedException {
    from.blob(ingest, report);
    report.step(Step.UNPACKING, 0);
    return true;
  }

  /**
   * Keeps a failure for later: as long as the blob is not proven, it may be the download's fault,
   * which the download finds out and mends.
   */
  private boolean unpackArriving(
      Digest diffId, InputStream arriving, LayerReport report, AtomicReference<IOException> failure)
      throws InterruptedException {
    try (arriving) {
      layout.layers().unpack(diffId, arriving, report::unpacked);
    } catch (IOException e) {
      failure.set(e);
    }
    return true;
  }

  /** Unpacks a blob that is in the store. */
  void unpack(Digest blob, Digest diffId, LayerReport report)
      throws IOException, InterruptedException {
    report.step(Step.UNPACKING, 0);
    try (InputStream in = layout.content().read(blob)) {
      layout.layers().unpack(diffId, in, report::unpacked);
    }
  }

  private boolean blobHere(Layer layer) {
    return layout.content().has(layer.digest());
  }

  private boolean layerHere(Layer layer) {
    return layer.diffId().map(layout.layers()::has).orElse(true);
  }
}
