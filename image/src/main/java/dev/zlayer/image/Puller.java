package dev.zlayer.image;

import dev.zlayer.error.AgentException;
import dev.zlayer.image.manifest.Descriptor;
import dev.zlayer.image.manifest.ImageConfig;
import dev.zlayer.image.manifest.InvalidImageException;
import dev.zlayer.image.registry.BlobListener;
import dev.zlayer.image.registry.Fetched;
import dev.zlayer.image.registry.Registry;
import dev.zlayer.image.registry.RegistryException;
import dev.zlayer.image.registry.Repository;
import dev.zlayer.image.store.DiskSpace;
import dev.zlayer.image.store.ImageRecord;
import dev.zlayer.image.store.IndexState;
import dev.zlayer.image.store.Ingest;
import dev.zlayer.image.store.Leases;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.BlobPeers;
import dev.zlayer.port.ImageDetails.Layer;
import dev.zlayer.port.PullEvent;
import dev.zlayer.port.PullRequest;
import dev.zlayer.task.KeyedLock;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Makes images present. The reference moves last, when everything it needs is here. */
final class Puller {
  private static final BlobListener SILENT =
      new BlobListener() {
        @Override
        public void received(long bytes) {}

        @Override
        public void verifying() {}
      };

  private final ImageLayout layout;
  private final Registry registry;
  private final ImagesConfig config;
  private final KeyedLock<Digest> busy = new KeyedLock<>();
  private final LayerPull layerPull;
  private final BlobPeers peers;

  /** Content is asked of the peers before it is of the registry. */
  Puller(ImageLayout layout, Registry registry, BlobPeers peers, ImagesConfig config) {
    this.layout = layout;
    this.registry = registry;
    this.peers = peers;
    this.config = config;
    this.layerPull = new LayerPull(layout, busy, new Semaphore(config.parallelLayers(), true));
  }

  /** One pull: what is asked for, and where the answers come from. */
  private record Job(
      Resolution.Request asked,
      Repository repository,
      Consumer<PullEvent> events,
      Leases.Lease lease) {
    ImageRef reference() {
      return asked.reference();
    }
  }

  ImageRecord pull(PullRequest request, Consumer<PullEvent> events)
      throws IOException, InterruptedException {
    Platform platform = request.platform().orElse(config.platform());
    var asked = new Resolution.Request(request.image(), platform, config.runtime());
    Optional<ImageRecord> present = present(asked);
    Repository repository = registry.repository(request.image(), request.auth(), notices(events));
    try (Leases.Lease lease = layout.leases().open()) {
      var job = new Job(asked, repository, events, lease);
      return switch (request.policy()) {
        case NEVER -> present.orElseThrow(() -> damage(asked).orElseGet(() -> absent(asked)));
        case IF_NOT_PRESENT -> present.isPresent() ? present.get() : fetch(job);
        case NEWER -> present.isPresent() ? newer(job, present.get()) : fetch(job);
        case ALWAYS -> fetch(job);
      };
    } catch (RegistryException e) {
      // what is here would do if it were whole: the registry is only the second thing to look at
      Optional<AgentException> damage = damage(asked).filter(_ -> e.problem().ofTheWay());
      if (damage.isPresent()) {
        damage.get().addSuppressed(e);
        throw damage.get();
      }
      throw e;
    }
  }

  private Optional<AgentException> damage(Resolution.Request asked) {
    return layout
        .index()
        .state()
        .find(asked.reference())
        .flatMap(image -> layout.damage(asked.reference(), image));
  }

  private static AgentException.NotFound absent(Resolution.Request asked) {
    return new AgentException.NotFound(
        "image '" + asked.reference() + "'",
        "it is not here for %s and the pull policy is never".formatted(asked.platform()));
  }

  /** What is here for the asked, with nothing missing. */
  private Optional<ImageRecord> present(Resolution.Request asked) {
    return layout
        .index()
        .state()
        .find(asked.reference())
        .filter(image -> image.platform().map(p -> serves(asked.platform(), p)).orElse(true))
        .filter(layout::complete);
  }

  private static boolean serves(Platform wanted, Platform image) {
    return wanted.runs(image) || image.architecture().startsWith("wasm");
  }

  /** One round trip when nothing has changed; a digest cannot change, so none is needed. */
  private ImageRecord newer(Job job, ImageRecord present) throws IOException, InterruptedException {
    if (job.reference().digest().isPresent()) {
      return present;
    }
    IndexState.Target known = layout.index().state().references().get(job.reference());
    Optional<Digest> now;
    try {
      now = job.repository().resolve(job.reference().selector());
    } catch (RegistryException e) {
      if (!e.problem().ofTheWay()) {
        throw e;
      }
      job.events()
          .accept(
              new PullEvent.Notice(
                  "keeping %s as it is here: %s".formatted(job.reference(), e.getMessage())));
      return present;
    }
    if (now.isPresent() && known != null && known.resolved().equals(now.get())) {
      return present;
    }
    return now.isPresent() ? fetch(job, now.get()) : fetch(job);
  }

  private ImageRecord fetch(Job job) throws IOException, InterruptedException {
    return fetch(
        job, PeersFirst.manifest(job.repository(), job.reference(), peers, notices(job.events())));
  }

  private static Consumer<String> notices(Consumer<PullEvent> events) {
    return text -> events.accept(new PullEvent.Notice(text));
  }

  /** What the tag was found to point to; when that is gone already, what it points to now. */
  private ImageRecord fetch(Job job, Digest resolved) throws IOException, InterruptedException {
    Fetched top;
    try {
      top = job.repository().manifest(resolved.toString());
    } catch (RegistryException e) {
      if (e.problem().ofTheWay()) {
        throw e;
      }
      job.events().accept(new PullEvent.Notice(e.getMessage() + "; asking for the tag again"));
      return fetch(job);
    }
    return fetch(job, top);
  }

  private ImageRecord fetch(Job job, Fetched top) throws IOException, InterruptedException {
    Resolution found = Resolution.follow(top, job.repository(), job.asked());
    job.lease().add(found.manifest().digest()).add(found.image().config().digest());
    BlobSource source = source(job, found);
    fetchConfig(source, found.image().config());
    Optional<ImageConfig> imageConfig = layout.config(found.image());
    checkPlatform(job.asked(), imageConfig);
    List<Layer> layers = ImageLayout.layers(found.image(), imageConfig);
    job.events()
        .accept(
            new PullEvent.Resolved(
                found.manifest().digest(),
                layers.size(),
                layers.stream().mapToLong(Layer::bytes).sum()));
    fetchLayers(job, source, layers);
    layout.content().put(found.manifest().digest(), found.bytes());
    ImageRecord record =
        ImageLayout.record(
            found.manifest(), found.image(), imageConfig, config.clock().instant(), false);
    layout.index().update(state -> state.with(record, job.reference(), found.resolved()));
    return record;
  }

  /** Peers that say now that they have what is missing here, then the registry. */
  private BlobSource source(Job job, Resolution found) throws InterruptedException {
    Set<Digest> missing =
        Stream.concat(Stream.of(found.image().config()), found.image().layers().stream())
            .map(Descriptor::digest)
            .filter(digest -> !layout.content().has(digest))
            .collect(Collectors.toUnmodifiableSet());
    return missing.isEmpty()
        ? job.repository()::blob
        : new PeersFirst(
            peers.having(missing),
            job.repository()::blob,
            PeersFirst.Patience.REAL,
            notices(job.events()));
  }

  private void fetchConfig(BlobSource source, Descriptor descriptor)
      throws IOException, InterruptedException {
    if (descriptor.size() > ImageConfig.MAX_BYTES) {
      throw new InvalidImageException(
          "the image configuration is over %d bytes".formatted(ImageConfig.MAX_BYTES));
    }
    try (var _ = busy.lock(descriptor.digest())) {
      if (!layout.content().has(descriptor.digest())) {
        try (Ingest ingest = layout.content().ingest(descriptor.digest(), descriptor.size())) {
          source.blob(ingest, SILENT);
        }
      }
    }
  }

  private static void checkPlatform(Resolution.Request asked, Optional<ImageConfig> config) {
    config
        .flatMap(ImageConfig::platform)
        .filter(platform -> !serves(asked.platform(), platform))
        .ifPresent(
            platform -> {
              throw asked.wrong(platform.toString());
            });
  }

  /** The biggest first, so that the last one to end is a small one. */
  private void fetchLayers(Job job, BlobSource source, List<Layer> layers)
      throws IOException, InterruptedException {
    List<Layer> distinct =
        layers.stream()
            .distinct()
            .sorted(Comparator.comparingLong(Layer::bytes).reversed())
            .toList();
    long missing =
        distinct.stream()
            .filter(layer -> !layout.content().has(layer.digest()))
            .mapToLong(Layer::bytes)
            .sum();
    DiskSpace.require(layout.content().directory(), missing);
    try (var scope = new TaskScope("pull")) {
      for (Layer layer : distinct) {
        scope.fork(
            () -> {
              layerPull.run(source, layer, job.lease(), job.events());
              return true;
            });
      }
      scope.join();
    }
  }
}
