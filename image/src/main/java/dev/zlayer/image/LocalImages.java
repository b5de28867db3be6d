package dev.zlayer.image;

import dev.zlayer.error.AgentException;
import dev.zlayer.image.archive.ConfigChange;
import dev.zlayer.image.archive.NewImage;
import dev.zlayer.image.layer.Decompression;
import dev.zlayer.image.manifest.ImageConfig;
import dev.zlayer.image.manifest.InvalidImageException;
import dev.zlayer.image.manifest.Manifest;
import dev.zlayer.image.registry.Registry;
import dev.zlayer.image.store.ImageRecord;
import dev.zlayer.image.store.IndexState;
import dev.zlayer.image.store.Leases;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.BlobPeers;
import dev.zlayer.port.Capabilities.ArtifactKind;
import dev.zlayer.port.ImageArchives;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.ImageRemoval;
import dev.zlayer.port.Images;
import dev.zlayer.port.PlatformAnswer;
import dev.zlayer.port.PruneFilter;
import dev.zlayer.port.PullEvent;
import dev.zlayer.port.PullRequest;
import dev.zlayer.port.PushEvent;
import dev.zlayer.port.PushRequest;
import dev.zlayer.port.PushResult;
import dev.zlayer.port.RegistryAuth;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** The images in this node's own store. */
public final class LocalImages implements Images, ImageArchives {
  private final ImageLayout layout;
  private final Puller puller;
  private final Pusher pusher;
  private final Registry registry;
  private final PlatformLookup platforms;
  private final ImageViews views;
  private final Removal removal;
  private final ImageFiles files;
  private final InstantSource clock;
  private volatile BlobPeers peers = BlobPeers.NONE;

  LocalImages(ImageLayout layout, Registry registry, ImagesConfig config) {
    this.layout = layout;
    this.clock = config.clock();
    this.registry = registry;
    BlobPeers others = wanted -> peers.having(wanted);
    this.puller = new Puller(layout, registry, others, config);
    this.pusher = new Pusher(layout, registry, config.parallelLayers());
    this.platforms = new PlatformLookup(layout, registry, others);
    this.views = new ImageViews(layout);
    this.removal = new Removal(layout, config.clock());
    this.files = new ImageFiles(layout, config);
  }

  @Override
  public ImageInfo pull(PullRequest request, Consumer<PullEvent> progress)
      throws InterruptedException {
    ImageRecord image =
        Failures.pulling(request.image().toString(), store(), () -> puller.pull(request, progress));
    return views.info(image);
  }

  /** Asks these for content before registries, from the next pull on. */
  public void use(BlobPeers others) {
    peers = others;
  }

  /** A file of the content that others may have of this node; it is open as long as it is read. */
  public Optional<InputStream> openBlob(Digest digest) {
    try {
      return layout.content().has(digest)
          ? Optional.of(layout.content().read(digest))
          : Optional.empty();
    } catch (IOException _) {
      return Optional.empty(); // it was removed in between
    }
  }

  /** Whether a blob is here, whole. */
  public boolean hasBlob(Digest digest) {
    return layout.content().has(digest);
  }

  /**
   * Brings an image to the registry of its name. Blocks; reports progress from any thread.
   *
   * @throws AgentException.NotFound there is no such image here
   * @throws AgentException.Network the registry did not take it, or could not be reached
   */
  public PushResult push(PushRequest request, Consumer<PushEvent> progress)
      throws InterruptedException {
    return Failures.pushing(
        request.image().familiar(), store(), () -> pusher.push(request, progress));
  }

  /**
   * What a registry has for a name, without fetching it.
   *
   * @throws AgentException.PullFailed it has nothing, or does not let us
   * @throws AgentException.Network it could not be reached
   */
  public RemoteImage remote(ImageRef image, Optional<RegistryAuth> auth)
      throws InterruptedException {
    return Failures.pulling(
        image.toString(),
        store(),
        () -> RemoteImage.of(registry.repository(image, auth, _ -> {}), image));
  }

  /**
   * Asks a registry whether it accepts credentials.
   *
   * @throws AgentException.InvalidSpec it does not
   * @throws AgentException.Network it cannot be asked
   */
  public void login(String host, RegistryAuth auth) throws InterruptedException {
    Failures.login(
        host,
        () -> {
          registry.login(host, auth);
          return true;
        });
  }

  @Override
  public PlatformAnswer platformOf(ImageRef image, Optional<RegistryAuth> auth)
      throws InterruptedException {
    return platforms.of(image, auth);
  }

  @Override
  public List<ImageInfo> list() {
    return views.all();
  }

  @Override
  public Optional<ImageDetails> find(ImageRef image) {
    return layout
        .index()
        .state()
        .find(image)
        .map(
            found -> {
              if (!layout.content().has(found.manifest())
                  || !layout.content().has(found.config())) {
                requireWhole(image);
              }
              return Failures.local("read image " + image, store(), () -> views.details(found));
            });
  }

  @Override
  public void tag(ImageRef source, ImageRef target) {
    requireTag(target);
    layout
        .index()
        .update(
            state -> {
              ImageRecord image = image(state, source);
              IndexState.Target known = state.references().get(source);
              return state.withReference(
                  target,
                  known != null
                      ? known
                      : new IndexState.Target(image.manifest(), image.manifest()));
            });
  }

  @Override
  public ImageRemoval remove(ImageRef image, boolean force) {
    return Failures.local("remove image " + image, store(), () -> removal.remove(image, force));
  }

  @Override
  public ImageRemoval prune(PruneFilter filter) {
    return Failures.local("prune images", store(), () -> removal.prune(filter));
  }

  /**
   * Frees space: garbage first, then images that no container uses and that were not used after
   * {@code idleSince}, the longest unused first, until it is enough.
   */
  public ImageRemoval reclaim(Instant idleSince, BooleanSupplier enough) {
    return Failures.local("free space", store(), () -> removal.reclaim(idleSince, enough));
  }

  @Override
  public List<ImageInfo> load(InputStream tar) throws InterruptedException {
    return files.load(tar).stream()
        .map(loaded -> views.info(loaded.image()).withReferences(loaded.names()))
        .toList();
  }

  @Override
  public void save(List<ImageRef> images, OutputStream tar) {
    files.save(images, tar);
  }

  @Override
  public ImageInfo importRoot(InputStream tar, ImageRef as) throws InterruptedException {
    return importRoot(tar, as, List.of());
  }

  /** The same with changes of how it is run. */
  public ImageInfo importRoot(InputStream tar, ImageRef as, List<ConfigChange> changes)
      throws InterruptedException {
    return importRoot(tar, Optional.of(as), changes, Optional.empty());
  }

  /** The same, with a name or without one, and with a comment for its history. */
  public ImageInfo importRoot(
      InputStream tar, Optional<ImageRef> as, List<ConfigChange> changes, Optional<String> comment)
      throws InterruptedException {
    as.ifPresent(LocalImages::requireTag);
    return views.info(files.importRoot(tar, as, changes, comment));
  }

  /**
   * Makes an image of another one and a layer over it.
   *
   * @throws AgentException.NotFound the image below is not here any more
   */
  public ImageInfo commit(
      Digest base, NewImage.LayerWriter layer, NewImage.Commit commit, Optional<ImageRef> as)
      throws InterruptedException {
    as.ifPresent(LocalImages::requireTag);
    ImageRecord below = layout.index().state().images().get(base);
    if (below == null) {
      throw new AgentException.NotFound(
          "image " + base, "it was removed since the container was created; pull it again");
    }
    return views.info(files.commit(below, layer, commit, as));
  }

  /**
   * Keeps the content of an image while something is made of it, and notes that it was used. Take
   * it before reading the layers; whoever made a container then shows up in the in-use list.
   */
  public Leases.Lease hold(ImageRef reference) {
    ImageRecord image = image(layout.index().state(), reference);
    Leases.Lease lease = layout.leases().open();
    image.blobs().forEach(lease::add);
    image.diffIds().forEach(lease::add);
    try {
      image(layout.index().state(), reference); // gone while we were taking the lease?
    } catch (AgentException.NotFound e) {
      lease.close();
      throw e;
    }
    if (image.diffIds().stream().anyMatch(layer -> !layout.layers().has(layer))) {
      lease.close();
      requireWhole(reference);
    }
    layout.index().used(image.manifest(), clock.instant());
    return lease;
  }

  /** Throws unless everything of the image is here; nothing when there is no such image. */
  public void requireWhole(ImageRef reference) {
    layout
        .index()
        .state()
        .find(reference)
        .flatMap(image -> layout.damage(reference, image))
        .ifPresent(
            damage -> {
              throw damage;
            });
  }

  /** The layers of an image as unpacked, lowest first. */
  public List<Path> layers(ImageRef reference) {
    return image(layout.index().state(), reference).diffIds().stream()
        .map(layout.layers()::path)
        .toList();
  }

  /**
   * The instructions that an image brings into every build that begins with it. Builders find the
   * keys whatever the case of their letters.
   */
  public List<String> triggers(ImageRef reference) {
    ImageRecord found = image(layout.index().state(), reference);
    return Failures.local(
        "read image " + reference,
        store(),
        () -> {
          try (InputStream in = layout.content().read(found.config())) {
            return members(JsonText.parse(in.readAllBytes()), "config")
                .flatMap(config -> members(config, "OnBuild"))
                .flatMap(triggers -> triggers.strings().stream())
                .toList();
          }
        });
  }

  private static Stream<Json> members(Json of, String name) {
    return of.members().entrySet().stream()
        .filter(member -> member.getKey().equalsIgnoreCase(name))
        .map(Map.Entry::getValue);
  }

  /** A layer as an archive, decompressed; whoever reads it checks the diff id. */
  public InputStream openLayer(ImageDetails.Layer layer) throws IOException {
    InputStream blob = layout.content().read(layer.digest());
    try {
      return Decompression.open(blob);
    } catch (IOException e) {
      blob.close();
      throw e;
    }
  }

  /**
   * The bytes of an image that is a WebAssembly module, read from its blob and verified again, or
   * taken out of the archive that holds it.
   */
  public byte[] module(ImageRef reference) throws InterruptedException {
    ImageRecord image = image(layout.index().state(), reference);
    if (image.kind() != ArtifactKind.WASM_MODULE) {
      throw new AgentException.InvalidSpec(
          "image '%s' is not a WebAssembly module".formatted(reference));
    }
    try (var _ = hold(reference)) {
      Manifest.Image manifest = layout.manifest(image.manifest());
      return new ModuleFile(layout.content())
          .read(image, layout.config(manifest).map(ImageConfig::run));
    } catch (InvalidImageException e) {
      throw new AgentException.InvalidSpec(
          "image '%s' cannot be run: %s".formatted(reference, e.getMessage()), e);
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "the module of image '%s' cannot be read: %s".formatted(reference, e.getMessage()), e);
    }
  }

  private static void requireTag(ImageRef name) {
    if (name.digest().isPresent()) {
      throw new AgentException.InvalidSpec(
          "'%s' cannot be given to an image: a digest names its content already".formatted(name));
    }
  }

  private static ImageRecord image(IndexState state, ImageRef reference) {
    return state
        .find(reference)
        .orElseThrow(
            () ->
                new AgentException.NotFound(
                    "image '" + reference + "'", "nothing of that name is here: pull it first"));
  }

  private Path store() {
    return layout.content().directory();
  }
}
