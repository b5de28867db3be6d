package dev.zlayer.image.registry;

import dev.zlayer.image.manifest.Descriptor;
import dev.zlayer.image.store.DiskContentStore;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.RegistryAuth;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

/** A repository of a registry, to be written to; mirrors are never written to. */
public final class PushRepository {
  /** How a blob came to be there. */
  public enum Outcome {
    EXISTS,
    MOUNTED,
    UPLOADED
  }

  private final RegistryEndpoint place;
  private final LoopbackTls loopback;
  private final Optional<RegistryAuth> auth;
  private final Authorizer authorizer;
  private final Retries retries;
  private final Consumer<String> notices;

  PushRepository(
      ImageRef image, Optional<RegistryAuth> auth, Registry registry, Consumer<String> notices)
      throws RegistryException {
    if (registry.config().of(image.host()).offline()) {
      throw new RegistryException(
          RegistryException.Problem.OFFLINE,
          "registry %s is set to offline".formatted(image.host()));
    }
    this.loopback = registry.loopback();
    this.place = RegistryEndpoint.itself(image, registry.config());
    this.auth = auth;
    this.authorizer = registry.authorizer();
    this.retries = registry.retries();
    this.notices = notices;
  }

  /**
   * Makes a blob present there.
   *
   * @param from another repository of the same registry that may have it
   */
  public Outcome blob(
      Descriptor blob, DiskContentStore content, Optional<String> from, LongConsumer progress)
      throws IOException, InterruptedException {
    return loopback.ask(place, endpoint -> blob(endpoint, blob, content, from, progress));
  }

  private Outcome blob(
      RegistryEndpoint endpoint,
      Descriptor blob,
      DiskContentStore content,
      Optional<String> from,
      LongConsumer progress)
      throws IOException, InterruptedException {
    var upload = new UploadBlob(authorizer, auth, endpoint, blob, content, progress);
    if (retries.call(notices, upload::exists)) {
      return Outcome.EXISTS;
    }
    if (from.isPresent() && retries.call(notices, () -> upload.mount(from.get()))) {
      return Outcome.MOUNTED;
    }
    retries.call(
        notices,
        upload::position,
        () -> {
          upload.attempt();
          return true;
        });
    return Outcome.UPLOADED;
  }

  /** Makes a tag or digest point to a manifest whose blobs are there. */
  public void manifest(String selector, Descriptor manifest, byte[] bytes)
      throws IOException, InterruptedException {
    loopback.ask(
        place, endpoint -> retries.call(notices, () -> put(endpoint, selector, manifest, bytes)));
  }

  private boolean put(RegistryEndpoint endpoint, String selector, Descriptor manifest, byte[] bytes)
      throws IOException, InterruptedException {
    var ask =
        RegistryTransport.Ask.of(
                "PUT", endpoint.manifest(selector), Map.of("Content-Type", manifest.mediaType()))
            .withPayload(Payload.of(bytes));
    try (RegistryResponse answer = authorizer.send(endpoint, auth, Scope.PUSH, ask)) {
      if (!answer.created() && !answer.ok()) {
        throw answer.failure(
            endpoint.name(),
            "manifest of %s:%s".formatted(endpoint.repository(), selector),
            authorizer.now());
      }
      answer.body().drain();
      Optional<Digest> stored =
          answer.header("Docker-Content-Digest").flatMap(ResolveManifest::digest);
      if (stored.isPresent() && !stored.get().equals(manifest.digest())) {
        throw new RegistryException(
            RegistryException.Problem.UNSOUND,
            "%s stored %s as %s".formatted(endpoint.name(), manifest.digest(), stored.get()));
      }
      return true;
    }
  }
}
