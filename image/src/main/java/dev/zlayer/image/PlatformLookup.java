package dev.zlayer.image;

import dev.zlayer.error.AgentException;
import dev.zlayer.image.manifest.Descriptor;
import dev.zlayer.image.manifest.ImageConfig;
import dev.zlayer.image.manifest.InvalidImageException;
import dev.zlayer.image.manifest.Manifest;
import dev.zlayer.image.manifest.ManifestReader;
import dev.zlayer.image.manifest.PlatformChoice;
import dev.zlayer.image.registry.Fetched;
import dev.zlayer.image.registry.Registry;
import dev.zlayer.image.registry.Repository;
import dev.zlayer.image.store.ImageRecord;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.BlobPeers;
import dev.zlayer.port.Capabilities.ArtifactKind;
import dev.zlayer.port.PlatformAnswer;
import dev.zlayer.port.RegistryAuth;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** What an image was built for: from the index here, else from the registry without layers. */
record PlatformLookup(ImageLayout layout, Registry registry, BlobPeers peers) {
  private static final Platform WASM = Platform.of("wasi", "wasm");

  PlatformAnswer of(ImageRef image, Optional<RegistryAuth> auth) throws InterruptedException {
    Optional<ImageRecord> here = layout.index().state().find(image);
    if (here.isPresent() && here.get().platform().isPresent()) {
      return new PlatformAnswer.Recognised(List.of(here.get().platform().get()), here.get().kind());
    }
    try {
      return ask(registry.repository(image, auth, _ -> {}), image);
    } catch (InvalidImageException e) {
      return new PlatformAnswer.Unrecognised(Failures.text(e));
    } catch (IOException | AgentException e) {
      return new PlatformAnswer.Failing(Failures.text(e));
    }
  }

  private PlatformAnswer ask(Repository repository, ImageRef image)
      throws IOException, InterruptedException {
    Fetched fetched = PeersFirst.manifest(repository, image, peers, _ -> {});
    return switch (ManifestReader.read(fetched.bytes(), fetched.contentType())) {
      case Manifest.Index index -> ofIndex(index);
      case Manifest.Image single when single.kind() == ArtifactKind.WASM_MODULE ->
          new PlatformAnswer.Recognised(List.of(WASM), ArtifactKind.WASM_MODULE);
      case Manifest.Image single -> ofConfig(ImageConfig.read(config(repository, single.config())));
    };
  }

  private byte[] config(Repository repository, Descriptor config)
      throws IOException, InterruptedException {
    Optional<byte[]> bytes =
        PeersFirst.small(peers, config.digest(), ImageConfig.MAX_BYTES, _ -> {});
    return bytes.isPresent() ? bytes.get() : repository.bytes(config, ImageConfig.MAX_BYTES);
  }

  private static PlatformAnswer ofIndex(Manifest.Index index) {
    List<Platform> platforms = PlatformChoice.platforms(index);
    if (platforms.isEmpty()) {
      return new PlatformAnswer.Unrecognised("no entry of its index names a platform");
    }
    boolean wasm = platforms.stream().allMatch(Platform::webAssembly);
    return new PlatformAnswer.Recognised(
        platforms, wasm ? ArtifactKind.WASM_MODULE : ArtifactKind.ROOT_FILE_SYSTEM);
  }

  private static PlatformAnswer ofConfig(ImageConfig config) {
    return config
        .platform()
        .<PlatformAnswer>map(
            platform ->
                new PlatformAnswer.Recognised(
                    List.of(platform),
                    platform.webAssembly()
                        ? ArtifactKind.WASM_MODULE
                        : ArtifactKind.ROOT_FILE_SYSTEM))
        .orElseGet(
            () ->
                new PlatformAnswer.Unrecognised(
                    "its configuration names no system and architecture"));
  }
}
