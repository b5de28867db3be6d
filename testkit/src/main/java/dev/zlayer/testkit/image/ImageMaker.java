package dev.zlayer.testkit.image;

import dev.zlayer.json.Json;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.Platform;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Makes an image step by step; {@link #make} finishes it and may be called more than once. The same
 * steps give the same digests in every run.
 *
 * <pre>{@code
 * MadeImage image = ImageMaker.busybox().layer(TarEntry.file("hello", "world\n")).cmd("sh").make();
 * }</pre>
 */
public final class ImageMaker {
  private static final String OCI = "application/vnd.oci.image.";
  private static final String DOCKER = "application/vnd.docker.";

  private final List<MadeImage.MadeLayer> layers = new ArrayList<>();
  private final ImageConfig config = new ImageConfig();
  private final Map<String, String> annotations = new LinkedHashMap<>();
  private Platform platform = Platform.of("linux", "amd64");
  private boolean docker;

  private ImageMaker() {}

  /** Nothing in it yet, for linux/amd64, with the media types of OCI. */
  public static ImageMaker scratch() {
    return new ImageMaker();
  }

  /** A small system of the host's static busybox: every applet in /bin, root, nobody and app. */
  public static ImageMaker busybox() {
    return scratch()
        .layer(Busybox.entries())
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .cmd("sh");
  }

  /** An index over images of several platforms. */
  public static MadeImage index(MadeImage... images) {
    boolean docker = images.length > 0 && images[0].manifest().mediaType().startsWith(DOCKER);
    String mediaType =
        docker ? DOCKER + "distribution.manifest.list.v2+json" : OCI + "index.v1+json";
    var descriptors = new ArrayList<Json>();
    for (MadeImage image : images) {
      descriptors.add(image.descriptor().build());
    }
    Json json =
        Json.object()
            .put("schemaVersion", 2)
            .put("mediaType", mediaType)
            .put("manifests", descriptors)
            .build();
    return new MadeImage(
        Content.of(mediaType, json),
        Optional.empty(),
        List.of(),
        Optional.empty(),
        List.of(images));
  }

  /** A WebAssembly module as an artifact of one layer. */
  public static MadeImage wasm(byte[] module) {
    Content layer = Content.of("application/wasm", module);
    Json json =
        Json.object()
            .put("created", TarEntry.EPOCH)
            .put("architecture", "wasm")
            .put("os", "wasip1")
            .put("layerDigests", List.of(layer.digest()))
            .build();
    Content config = Content.of("application/vnd.wasm.config.v0+json", json);
    var made = List.of(new MadeImage.MadeLayer(layer, module, layer.digest()));
    return manifest(OCI + "manifest.v1+json", config, made, Map.of())
        .on(Platform.of("wasip1", "wasm"));
  }

  public ImageMaker layer(TarEntry... entries) {
    return layer(List.of(entries));
  }

  public ImageMaker layer(List<TarEntry> entries) {
    return layer(Compression.GZIP, entries);
  }

  public ImageMaker layer(Compression compression, List<TarEntry> entries) {
    return rawLayer(compression, TarWriter.archive(entries));
  }

  /** Bytes that are taken to be an archive, whatever they are. */
  public ImageMaker rawLayer(Compression compression, byte[] tar) {
    String mediaType = docker ? compression.dockerMediaType() : compression.ociMediaType();
    return blobLayer(Content.of(mediaType, compression.pack(tar)), tar, Content.digest(tar));
  }

  /** A layer with nothing computed: the digest, media type or diff id may be a lie. */
  public ImageMaker blobLayer(Content blob, byte[] tar, Digest diffId) {
    layers.add(new MadeImage.MadeLayer(blob, tar, diffId));
    return this;
  }

  /** Docker's media types from here on; call it before adding layers. */
  public ImageMaker docker() {
    if (!layers.isEmpty()) {
      throw new IllegalStateException("call docker() before adding layers");
    }
    docker = true;
    return this;
  }

  public ImageMaker platform(Platform platform) {
    this.platform = platform;
    return this;
  }

  public ImageMaker entrypoint(String... words) {
    config.entrypoint = List.of(words);
    return this;
  }

  public ImageMaker cmd(String... words) {
    config.cmd = List.of(words);
    return this;
  }

  public ImageMaker env(String name, String value) {
    config.env.add(name + "=" + value);
    return this;
  }

  public ImageMaker user(String user) {
    config.user = Optional.of(user);
    return this;
  }

  public ImageMaker workdir(String directory) {
    config.workdir = Optional.of(directory);
    return this;
  }

  /** Such as {@code 80/tcp}. */
  public ImageMaker expose(String port) {
    config.exposedPorts.add(port);
    return this;
  }

  public ImageMaker volume(String path) {
    config.volumes.add(path);
    return this;
  }

  public ImageMaker label(String name, String value) {
    config.labels.put(name, value);
    return this;
  }

  public ImageMaker stopSignal(String signal) {
    config.stopSignal = Optional.of(signal);
    return this;
  }

  /** As the instruction of that name in a Dockerfile writes it. */
  public ImageMaker healthcheck(Json check) {
    config.healthcheck = Optional.of(check);
    return this;
  }

  /** Instructions that run in builds that begin with the image. */
  public ImageMaker onBuild(String... instructions) {
    config.triggers = List.of(instructions);
    return this;
  }

  /** What the history says made each layer. */
  public ImageMaker createdBy(String command) {
    config.createdBy = Optional.of(command);
    return this;
  }

  public ImageMaker annotation(String name, String value) {
    annotations.put(name, value);
    return this;
  }

  public MadeImage make() {
    List<Digest> diffIds = layers.stream().map(MadeImage.MadeLayer::diffId).toList();
    String configType = docker ? DOCKER + "container.image.v1+json" : OCI + "config.v1+json";
    String manifestType =
        docker ? DOCKER + "distribution.manifest.v2+json" : OCI + "manifest.v1+json";
    Content configBlob = Content.of(configType, config.json(platform, diffIds));
    return manifest(manifestType, configBlob, layers, annotations).on(platform);
  }

  private static Unplaced manifest(
      String mediaType,
      Content config,
      List<MadeImage.MadeLayer> layers,
      Map<String, String> annotations) {
    var descriptors =
        layers.stream().map(layer -> (Json) layer.blob().descriptor().build()).toList();
    Json.Builder json =
        Json.object()
            .put("schemaVersion", 2)
            .put("mediaType", mediaType)
            .put("config", config.descriptor().build())
            .put("layers", descriptors);
    if (!annotations.isEmpty()) {
      json.put("annotations", annotations);
    }
    return new Unplaced(Content.of(mediaType, json.build()), config, List.copyOf(layers));
  }

  private record Unplaced(Content manifest, Content config, List<MadeImage.MadeLayer> layers) {
    MadeImage on(Platform platform) {
      return new MadeImage(manifest, Optional.of(config), layers, Optional.of(platform), List.of());
    }
  }
}
