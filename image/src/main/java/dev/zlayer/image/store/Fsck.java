package dev.zlayer.image.store;

import dev.zlayer.image.layer.LayerStore;
import dev.zlayer.oci.Digest;
import dev.zlayer.port.ImageDetails.Layer;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Proves that a store is exactly the sum of what is referred to, and makes it so. Content that a
 * pull in flight holds is left out.
 */
public final class Fsck {
  /** What was looked at and what was found. */
  public record Report(int images, int blobs, long bytes, List<StoreFinding> findings) {
    public Report {
      findings = List.copyOf(findings);
    }

    public boolean clean() {
      return findings.isEmpty();
    }
  }

  private final DiskContentStore content;
  private final ImageIndex index;
  private final LayerStore layers;
  private final Leases leases;
  private final InUse inUse;

  public Fsck(
      DiskContentStore content, ImageIndex index, LayerStore layers, Leases leases, InUse inUse) {
    this.content = content;
    this.index = index;
    this.layers = layers;
    this.leases = leases;
    this.inUse = inUse;
  }

  /** Reads every blob and compares; changes nothing. */
  public Report check() throws IOException {
    IndexState state = index.state();
    ContentReferences references = ContentReferences.of(state, inUse);
    var findings = new ArrayList<StoreFinding>();
    lostImages(state, findings);
    missing(state, findings);
    Set<Digest> blobs = content.list();
    long bytes = 0;
    for (Digest blob : blobs) {
      bytes += content.size(blob);
      check(blob, references, findings);
    }
    for (Digest layer : layers.list()) {
      if (!references.layers().contains(layer) && !leases.isHeld(layer)) {
        findings.add(new StoreFinding.UnreferencedLayer(layer));
      }
    }
    for (Digest partial : content.partials()) {
      if (!leases.isHeld(partial)) {
        findings.add(new StoreFinding.Interrupted(partial));
      }
    }
    content.strangers().forEach(path -> findings.add(new StoreFinding.Stranger(path)));
    return new Report(state.images().size(), blobs.size(), bytes, findings);
  }

  private static void lostImages(IndexState state, List<StoreFinding> findings) {
    state
        .references()
        .forEach(
            (reference, target) -> {
              if (!state.images().containsKey(target.image())) {
                findings.add(new StoreFinding.LostImage(reference.toString(), target.image()));
              }
            });
  }

  private void missing(IndexState state, List<StoreFinding> findings) {
    Map<Digest, List<String>> blobs = new LinkedHashMap<>();
    Map<Digest, List<String>> diffIds = new LinkedHashMap<>();
    for (ImageRecord image : state.images().values()) {
      List<String> names = names(state, image);
      new LinkedHashSet<>(image.blobs())
          .forEach(blob -> blobs.computeIfAbsent(blob, _ -> new ArrayList<>()).addAll(names));
      new LinkedHashSet<>(image.diffIds())
          .forEach(layer -> diffIds.computeIfAbsent(layer, _ -> new ArrayList<>()).addAll(names));
    }
    blobs.keySet().removeIf(content::has);
    diffIds.keySet().removeIf(layers::has);
    blobs.forEach((blob, names) -> findings.add(new StoreFinding.MissingBlob(blob, names)));
    diffIds.forEach((layer, names) -> findings.add(new StoreFinding.MissingLayer(layer, names)));
  }

  private void check(Digest blob, ContentReferences references, List<StoreFinding> findings)
      throws IOException {
    if (!references.blobs().contains(blob)) {
      if (!leases.isHeld(blob)) {
        findings.add(new StoreFinding.Unreferenced(blob, content.size(blob)));
      }
      return;
    }
    Digest actual = Hashes.of(content.path(blob), blob.algorithm());
    if (!actual.equals(blob)) {
      findings.add(new StoreFinding.CorruptBlob(blob, actual));
    }
  }

  private static List<String> names(IndexState state, ImageRecord image) {
    List<String> names =
        state.referencesOf(image.manifest()).stream().map(Object::toString).toList();
    return names.isEmpty() ? List.of(image.manifest().brief()) : names;
  }

  /**
   * Makes the store sound again: corrupt blobs go, layers are unpacked again where their blob is
   * good, images that lack something are forgotten (a pull brings them back), and whatever nothing
   * refers to then is taken away. Returns what was found before.
   */
  public Report repair() throws IOException, InterruptedException {
    Report report = check();
    for (StoreFinding finding : report.findings()) {
      if (finding instanceof StoreFinding.CorruptBlob(var blob, _)) {
        content.delete(blob);
      } else if (finding instanceof StoreFinding.Stranger(var path)) {
        Files.deleteIfExists(path);
      }
    }
    for (ImageRecord image : index.state().images().values()) {
      if (!restore(image)) {
        index.update(state -> state.without(image.manifest()));
      }
    }
    index.update(Fsck::withoutLost);
    new Collector(content, index, layers, leases, inUse).collectAll();
    return report;
  }

  /** False when the image cannot be made whole from what is here. */
  private boolean restore(ImageRecord image) throws InterruptedException {
    if (!image.blobs().stream().allMatch(content::has)) {
      return false;
    }
    for (Layer layer : image.layers()) {
      if (layer.diffId().isPresent() && !layers.has(layer.diffId().get())) {
        try (InputStream blob = content.read(layer.digest())) {
          layers.unpack(layer.diffId().get(), blob, _ -> {});
        } catch (IOException _) {
          return false; // the image is forgotten, which is what the caller is told about
        }
      }
    }
    return true;
  }

  private static IndexState withoutLost(IndexState state) {
    IndexState result = state;
    for (var entry : state.references().entrySet()) {
      if (!state.images().containsKey(entry.getValue().image())) {
        result = result.withoutReference(entry.getKey());
      }
    }
    return result;
  }
}
