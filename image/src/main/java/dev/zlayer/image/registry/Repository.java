package dev.zlayer.image.registry;

import dev.zlayer.image.manifest.Descriptor;
import dev.zlayer.image.store.Ingest;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.RegistryAuth;
import java.io.IOException;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * One repository, wherever it may be had from. Every question goes to the mirrors in their order
 * and then to the registry; each place is asked again while that is worth it.
 */
public final class Repository {
  private final Fallback places;
  private final Retries retries;
  private final Consumer<String> notices;
  private final ResolveManifest resolve;
  private final FetchManifest manifests;
  private final FetchBlob blobs;

  Repository(
      ImageRef image, Optional<RegistryAuth> auth, Registry registry, Consumer<String> notices) {
    this.places =
        new Fallback(
            image, RegistryEndpoint.of(image, registry.config()), registry.loopback(), notices);
    this.retries = registry.retries();
    this.notices = notices;
    this.resolve = new ResolveManifest(registry.authorizer(), auth);
    this.manifests = new FetchManifest(registry.authorizer(), auth);
    this.blobs = new FetchBlob(registry.authorizer(), auth, retries, registry.division(), notices);
  }

  /** What a tag or digest points to now; nothing when the registry does not tell it cheaply. */
  public Optional<Digest> resolve(String selector) throws IOException, InterruptedException {
    return places.first(endpoint -> retries.call(notices, () -> resolve.from(endpoint, selector)));
  }

  /** The manifest or index of a tag or digest, verified. */
  public Fetched manifest(String selector) throws IOException, InterruptedException {
    return places.first(
        endpoint -> retries.call(notices, () -> manifests.from(endpoint, selector)));
  }

  /** Brings a blob into the store. */
  public void blob(Ingest into, BlobListener listener) throws IOException, InterruptedException {
    places.first(
        endpoint -> {
          blobs.from(endpoint, into, listener);
          return true;
        });
  }

  /** A small blob, verified, that is not kept. */
  public byte[] bytes(Descriptor blob, int limit) throws IOException, InterruptedException {
    return places.first(endpoint -> blobs.bytes(endpoint, blob, limit));
  }
}
