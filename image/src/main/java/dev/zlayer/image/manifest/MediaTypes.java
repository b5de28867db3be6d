package dev.zlayer.image.manifest;

import java.util.List;
import java.util.Set;

/** The media types we speak, in the words of OCI and of Docker. */
public final class MediaTypes {
  public static final String OCI_INDEX = "application/vnd.oci.image.index.v1+json";
  public static final String OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json";
  public static final String OCI_CONFIG = "application/vnd.oci.image.config.v1+json";
  public static final String OCI_LAYER = "application/vnd.oci.image.layer.v1.tar";
  public static final String DOCKER_LIST =
      "application/vnd.docker.distribution.manifest.list.v2+json";
  public static final String DOCKER_MANIFEST =
      "application/vnd.docker.distribution.manifest.v2+json";

  /** What we ask a registry for, best first. */
  public static final String ACCEPT =
      String.join(", ", List.of(OCI_INDEX, DOCKER_LIST, OCI_MANIFEST, DOCKER_MANIFEST));

  /** The configuration of a module that we make an image of. */
  public static final String WASM_CONFIG = "application/vnd.wasm.config.v0+json";

  /** A module as it is. */
  public static final String WASM_LAYER = "application/wasm";

  private static final String DOCKER_CONFIG = "application/vnd.docker.container.image.v1+json";
  private static final String DOCKER_MANIFEST_1 = "application/vnd.docker.distribution.manifest.v1";
  private static final Set<String> WASM_ARTIFACTS =
      Set.of(
          "application/vnd.wasm.component.v1+wasm",
          "application/vnd.wasm.module.v1+wasm",
          "application/vnd.wasm.config.v1+json",
          "application/vnd.module.wasm.config.v1+json",
          WASM_CONFIG);
  private static final Set<String> WASM_LAYERS =
      Set.of(
          "application/vnd.wasm.content.layer.v1.wasm",
          "application/vnd.wasm.content.layer.v1+wasm",
          "application/vnd.module.wasm.content.layer.v1+wasm",
          WASM_LAYER);

  private MediaTypes() {}

  static boolean index(String type) {
    return type.equals(OCI_INDEX) || type.equals(DOCKER_LIST);
  }

  static boolean manifest(String type) {
    return type.equals(OCI_MANIFEST) || type.equals(DOCKER_MANIFEST);
  }

  static boolean schema1(String type) {
    return type.startsWith(DOCKER_MANIFEST_1);
  }

  /** Whether an artifact type or the type of a configuration says WebAssembly. */
  static boolean wasmArtifact(String type) {
    return WASM_ARTIFACTS.contains(type);
  }

  /** Whether a configuration says how to run an image of files. */
  public static boolean imageConfig(String type) {
    return type.equals(OCI_CONFIG) || type.equals(DOCKER_CONFIG);
  }

  public static boolean wasmLayer(String type) {
    return WASM_LAYERS.contains(type);
  }

  /** Whether this is an archive of files in one of the compressions we can open. */
  static boolean fileSystemLayer(String type) {
    return type.startsWith(OCI_LAYER)
        || type.startsWith("application/vnd.oci.image.layer.nondistributable.v1.tar")
        || type.startsWith("application/vnd.docker.image.rootfs.diff.tar")
        || type.startsWith("application/vnd.docker.image.rootfs.foreign.diff.tar");
  }
}
