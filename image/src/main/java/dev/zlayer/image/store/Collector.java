package dev.zlayer.image.store;

import dev.zlayer.image.layer.LayerStore;
import dev.zlayer.oci.Digest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;

/**
 * Takes away what nothing refers to: blobs without an image, layers without an image or a
 * container, and, when asked, downloads that nobody continues. Safe at any time: see {@link
 * Leases}.
 */
public final class Collector {
  /** What was taken away. */
  public record Collected(List<Digest> deleted, long bytes) {
    public Collected {
      deleted = List.copyOf(deleted);
    }
  }

  private final DiskContentStore content;
  private final ImageIndex index;
  private final LayerStore layers;
  private final Leases leases;
  private final InUse inUse;

  public Collector(
      DiskContentStore content, ImageIndex index, LayerStore layers, Leases leases, InUse inUse) {
    this.content = content;
    this.index = index;
    this.layers = layers;
    this.leases = leases;
    this.inUse = inUse;
  }

  /** Whichever of these is garbage. What an interrupted pull left stays, so that it can go on. */
  public Collected collect(Collection<Digest> blobs, Collection<Digest> diffIds)
      throws IOException {
    return new Sweep().blobs(blobs).layers(diffIds).end();
  }

  /** All garbage, also interrupted downloads. */
  public Collected collectAll() throws IOException {
    return new Sweep().blobs(content.list()).layers(layers.list()).partials().end();
  }

  /**
   * One pass; it reads the index again whenever that has changed under it. Whoever leases content
   * waits while something is taken out of the store, but never while files are deleted.
   */
  private final class Sweep {
    private final List<Digest> deleted = new ArrayList<>();
    private long bytes;
    private IndexState seen = index.state();
    private ContentReferences references = ContentReferences.of(seen, inUse);

    Sweep blobs(Collection<Digest> candidates) throws IOException {
      List<Path> remains = new ArrayList<>();
      for (Digest blob : new TreeSet<>(candidates)) {
        boolean gone =
            leases.unlessHeld(
                blob,
                () -> {
                  if (!content.has(blob) || references().blobs().contains(blob)) {
                    return false;
                  }
                  bytes += content.size(blob);
                  remains.add(content.detach(blob));
                  return true;
                });
        if (gone) {
          deleted.add(blob);
        }
        for (Path file : remains) {
          Files.deleteIfExists(file);
        }
        remains.clear();
      }
      return this;
    }

    Sweep layers(Collection<Digest> candidates) throws IOException {
      List<LayerStore.Remains> remains = new ArrayList<>();
      for (Digest layer : new TreeSet<>(candidates)) {
        boolean gone =
            leases.unlessHeld(
                layer,
                () -> {
                  if (!layers.has(layer) || references().layers().contains(layer)) {
                    return false;
                  }
                  bytes += layers.usage(layer).bytes();
                  remains.add(layers.detach(layer));
                  return true;
                });
        if (gone) {
          deleted.add(layer);
        }
        for (LayerStore.Remains files : remains) {
          files.delete();
        }
        remains.clear();
      }
      return this;
    }

    Sweep partials() throws IOException {
      for (Digest partial : content.partials()) {
        leases.unlessHeld(
            partial,
            () -> {
              bytes += content.deletePartial(partial);
              return true;
            });
      }
      return this;
    }

    Collected end() {
      return new Collected(deleted, bytes);
    }

    private ContentReferences references() {
      IndexState now = index.state();
      if (!now.equals(seen)) {
        seen = now;
        references = ContentReferences.of(now, inUse);
      }
      return references;
    }
  }
}
