package dev.zlayer.image;

import dev.zlayer.error.AgentException;
import dev.zlayer.image.store.Collector;
import dev.zlayer.image.store.ImageRecord;
import dev.zlayer.image.store.IndexState;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ImageRemoval;
import dev.zlayer.port.PruneFilter;
import java.io.IOException;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.BooleanSupplier;

/** Takes references and images away, and then what nothing refers to any more. */
record Removal(ImageLayout layout, InstantSource clock) {
  ImageRemoval remove(ImageRef reference, boolean force) throws IOException {
    IndexState state = layout.index().state();
    ImageRecord image =
        state
            .find(reference)
            .orElseThrow(
                () ->
                    new AgentException.NotFound(
                        "image '" + reference + "'", "nothing of that name is here"));
    List<ImageRef> references = state.referencesOf(image.manifest());
    boolean byName = state.references().containsKey(reference);
    if (byName && references.size() > 1) {
      layout.index().update(now -> now.withoutReference(reference));
      return new ImageRemoval(List.of(reference.canonical()), List.of(), 0);
    }
    if (!byName && references.size() > 1 && !force) {
      throw new AgentException.InvalidSpec(
          "image '%s' has several references: %s; remove them by name, or force it"
              .formatted(reference, references));
    }
    refuseInUse(reference, image, force);
    layout.index().update(now -> now.without(image.manifest()));
    Collector.Collected collected = layout.collector().collect(image.blobs(), image.diffIds());
    return new ImageRemoval(
        references.stream().map(ImageRef::canonical).toList(),
        collected.deleted(),
        collected.bytes());
  }

  private void refuseInUse(ImageRef reference, ImageRecord image, boolean force) {
    List<String> users = layout.inUse().usersOf(image);
    if (!force && !users.isEmpty()) {
      throw new AgentException.Conflict(
          "image '%s' is in use by %s: remove them first, or force it"
              .formatted(reference, String.join(", ", users)));
    }
  }

  ImageRemoval prune(PruneFilter filter) throws IOException {
    layout.index().flush();
    var untagged = new ArrayList<String>();
    for (ImageRecord image : layout.index().state().images().values()) {
      if (goes(image, filter) && layout.inUse().usersOf(image).isEmpty()) {
        layout
            .index()
            .update(
                now -> {
                  List<ImageRef> references = now.referencesOf(image.manifest());
                  if (!filter.all() && !references.isEmpty()) {
                    return now; // it was tagged meanwhile
                  }
                  references.forEach(reference -> untagged.add(reference.canonical()));
                  return now.without(image.manifest());
                });
      }
    }
    Collector.Collected collected = layout.collector().collectAll();
    return new ImageRemoval(untagged, collected.deleted(), collected.bytes());
  }

  /**
   * Frees what nothing refers to, then images that no container uses, the longest unused first,
   * until it is enough. Images from files stay, since nobody could pull them again, and so does
   * what was used after {@code idleSince}.
   */
  ImageRemoval reclaim(Instant idleSince, BooleanSupplier enough) throws IOException {
    layout.index().flush();
    Collector.Collected first = layout.collector().collectAll();
    var untagged = new ArrayList<String>();
    var deleted = new ArrayList<>(first.deleted());
    long bytes = first.bytes();
    List<ImageRecord> candidates =
        layout.index().state().images().values().stream()
            .filter(image -> !image.imported() && image.lastUsed().isBefore(idleSince))
            .sorted(Comparator.comparing(ImageRecord::lastUsed))
            .toList();
    for (ImageRecord image : candidates) {
      if (enough.getAsBoolean()) {
        break;
      }
      if (layout.inUse().usersOf(image).isEmpty()) {
        List<ImageRef> names = layout.index().state().referencesOf(image.manifest());
        layout.index().update(now -> now.without(image.manifest()));
        Collector.Collected part = layout.collector().collect(image.blobs(), image.diffIds());
        names.forEach(name -> untagged.add(name.canonical()));
        deleted.addAll(part.deleted());
        bytes += part.bytes();
      }
    }
    return new ImageRemoval(untagged, deleted, bytes);
  }

  private boolean goes(ImageRecord image, PruneFilter filter) {
    boolean dangling = layout.index().state().referencesOf(image.manifest()).isEmpty();
    Instant limit = filter.olderThan().map(clock.instant()::minus).orElse(Instant.MAX);
    return (filter.all() || dangling) && image.lastUsed().isBefore(limit);
  }
}
