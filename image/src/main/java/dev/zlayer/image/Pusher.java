package dev.zlayer.image;

import dev.zlayer.error.AgentException;
import dev.zlayer.image.manifest.Descriptor;
import dev.zlayer.image.manifest.Manifest;
import dev.zlayer.image.manifest.ManifestReader;
import dev.zlayer.image.registry.PushRepository;
import dev.zlayer.image.registry.Registry;
import dev.zlayer.image.store.ImageRecord;
import dev.zlayer.image.store.IndexState;
import dev.zlayer.image.store.Leases;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.PushEvent;
import dev.zlayer.port.PushEvent.Step;
import dev.zlayer.port.PushRequest;
import dev.zlayer.port.PushResult;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Brings an image to its registry: all blobs first, then the manifest, which makes it visible
 * there. What the registry has already is not sent again.
 */
record Pusher(ImageLayout layout, Registry registry, int parallel) {
  PushResult push(PushRequest request, Consumer<PushEvent> events)
      throws IOException, InterruptedException {
    ImageRef name = request.image();
    if (name.digest().isPresent()) {
      throw new AgentException.InvalidSpec(
          "'%s' cannot be pushed: a push needs a tag, not a digest; tag the image first"
              .formatted(name.familiar()));
    }
    ImageRecord image = find(name);
    PushRepository target =
        registry.pushTo(name, request.auth(), text -> events.accept(new PushEvent.Notice(text)));
    try (Leases.Lease lease = layout.leases().open()) {
      image.blobs().forEach(lease::add);
      layout
          .damage(name, image)
          .ifPresent(
              damage -> {
                throw damage;
              });
      byte[] bytes = layout.content().bytes(image.manifest(), ManifestReader.MAX_BYTES);
      Manifest.Image manifest = layout.manifest(image.manifest());
      pushBlobs(name, manifest, target, events);
      target.manifest(
          name.selector(), Descriptor.of(image.mediaType(), image.manifest(), bytes.length), bytes);
      return new PushResult(image.manifest(), bytes.length);
    }
  }

  private ImageRecord find(ImageRef name) {
    return layout
        .index()
        .state()
        .find(name)
        .orElseThrow(
            () ->
                new AgentException.NotFound(
                    "image '" + name.familiar() + "'",
                    "give an image that name first: 'zlayer image tag IMAGE " + name + "'"));
  }

  /** The biggest first, so that the last one to end is a small one. */
  private void pushBlobs(
      ImageRef name, Manifest.Image manifest, PushRepository target, Consumer<PushEvent> events)
      throws InterruptedException {
    List<Descriptor> blobs =
        Stream.concat(manifest.layers().stream(), Stream.of(manifest.config()))
            .collect(Collectors.toMap(Descriptor::digest, blob -> blob, (first, _) -> first))
            .values()
            .stream()
            .sorted(Comparator.comparingLong(Descriptor::size).reversed())
            .toList();
    for (Descriptor layer : manifest.layers()) {
      report(events, layer, Step.WAITING, 0);
    }
    try (var scope = new TaskScope("push", parallel)) {
      for (Descriptor blob : blobs) {
        scope.fork(
            () -> {
              push(name, blob, target, events);
              return true;
            });
      }
      scope.join();
    }
  }

  private void push(
      ImageRef name, Descriptor blob, PushRepository target, Consumer<PushEvent> events)
      throws IOException, InterruptedException {
    var progress = new Steps(blob, events);
    PushRepository.Outcome outcome =
        target.blob(blob, layout.content(), elsewhere(name, blob.digest()), progress::sent);
    report(
        events,
        blob,
        switch (outcome) {
          case EXISTS -> Step.EXISTS;
          case MOUNTED -> Step.MOUNTED;
          case UPLOADED -> Step.PUSHED;
        },
        blob.size());
  }

  private static void report(Consumer<PushEvent> events, Descriptor blob, Step step, long done) {
    events.accept(new PushEvent.BlobProgress(blob.digest(), step, done, blob.size()));
  }

  /** Another repository of the same registry that, by its name, has the blob. */
  private Optional<String> elsewhere(ImageRef name, Digest blob) {
    IndexState state = layout.index().state();
    return state.references().entrySet().stream()
        .filter(entry -> entry.getKey().host().equals(name.host()))
        .filter(entry -> !entry.getKey().path().equals(name.path()))
        .filter(entry -> has(state.images().get(entry.getValue().image()), blob))
        .map(Map.Entry::getKey)
        .map(ImageRef::path)
        .findFirst();
  }

  private static boolean has(@Nullable ImageRecord image, Digest blob) {
    return image != null && image.blobs().contains(blob);
  }

  /** Reports every hundredth of a blob, not every buffer. */
  private static final class Steps {
    private static final long SMALL = 64 << 10;

    private final Descriptor blob;
    private final Consumer<PushEvent> events;
    private long reported = -1;

    Steps(Descriptor blob, Consumer<PushEvent> events) {
      this.blob = blob;
      this.events = events;
    }

    synchronized void sent(long bytes) {
      boolean back = bytes < reported;
      if (reported < 0 || back || bytes - reported >= Math.max(SMALL, blob.size() / 100)) {
        reported = bytes;
        report(events, blob, Step.PUSHING, bytes);
      }
    }
  }
}
