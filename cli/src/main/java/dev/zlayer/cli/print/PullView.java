package dev.zlayer.cli.print;

import dev.zlayer.oci.Digest;
import dev.zlayer.port.PullEvent;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * What a pull has done so far, as lines for people. Events may come from any thread.
 *
 * <p>On a terminal the lines of the layers under way are drawn over themselves; otherwise each step
 * that matters is one plain line, so that a log file stays readable.
 */
public abstract sealed class PullView implements Consumer<PullEvent>, AutoCloseable
    permits LivePullView, PlainPullView {
  private static final Set<PullEvent.Step> FINISHED =
      EnumSet.of(PullEvent.Step.DONE, PullEvent.Step.PRESENT);

  private final Map<Digest, PullEvent.LayerProgress> layers = new LinkedHashMap<>();
  private int layerCount;
  private long totalBytes;

  public static PullView of(Consumer<String> out, boolean terminal) {
    return terminal ? new LivePullView(out) : new PlainPullView(out);
  }

  @Override
  public final synchronized void accept(PullEvent event) {
    switch (event) {
      case PullEvent.Resolved(_, int count, long bytes) -> {
        layerCount = count;
        totalBytes = bytes;
      }
      case PullEvent.LayerProgress progress -> layers.put(progress.layer(), progress);
      case PullEvent.Notice _ -> {}
    }
    show(event);
  }

  /** Called with the lock held. */
  abstract void show(PullEvent event);

  @Override
  public void close() {}

  final Iterable<PullEvent.LayerProgress> layers() {
    return layers.values();
  }

  final int layerCount() {
    return layerCount;
  }

  final long totalBytes() {
    return totalBytes;
  }

  final long finishedCount() {
    return layers.values().stream().filter(layer -> FINISHED.contains(layer.step())).count();
  }

  final long doneBytes() {
    return layers.values().stream()
        .mapToLong(
            layer ->
                switch (layer.step()) {
                  case WAITING -> 0;
                  case DOWNLOADING -> layer.done();
                  case PRESENT, VERIFYING, UNPACKING, DONE -> layer.total();
                })
        .sum();
  }
}
