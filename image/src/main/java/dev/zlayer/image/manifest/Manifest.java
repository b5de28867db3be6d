package dev.zlayer.image.manifest;

import dev.zlayer.port.Capabilities.ArtifactKind;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What a reference resolves to: one image, or a choice of images. */
public sealed interface Manifest {
  /** One image per platform. */
  record Index(List<Descriptor> manifests) implements Manifest {
    public Index {
      manifests = List.copyOf(manifests);
    }
  }

  /** One image. */
  record Image(
      Descriptor config,
      List<Descriptor> layers,
      Map<String, String> annotations,
      Optional<String> artifactType)
      implements Manifest {
    public Image {
      layers = List.copyOf(layers);
      annotations = Map.copyOf(annotations);
    }

    /** How builders mark an image of files whose only program is a module. */
    private static final String VARIANT = "module.wasm.image/variant";

    /** WebAssembly when the artifact, its configuration, a layer or a mark says so. */
    public ArtifactKind kind() {
      boolean wasm =
          artifactType.filter(MediaTypes::wasmArtifact).isPresent()
              || MediaTypes.wasmArtifact(config.mediaType())
              || annotations.containsKey(VARIANT)
              || layers.stream().anyMatch(layer -> MediaTypes.wasmLayer(layer.mediaType()));
      return wasm ? ArtifactKind.WASM_MODULE : ArtifactKind.ROOT_FILE_SYSTEM;
    }

    /** Configuration and layers: what has to be there for the image to be complete. */
    public long contentBytes() {
      return config.size() + layers.stream().mapToLong(Descriptor::size).sum();
    }
  }
}
