package dev.zlayer.image.archive;

import dev.zlayer.image.layer.Decompression;
import dev.zlayer.image.manifest.Descriptor;
import dev.zlayer.image.manifest.ImageConfig;
import dev.zlayer.image.manifest.InvalidImageException;
import dev.zlayer.image.manifest.Manifest;
import dev.zlayer.image.manifest.MediaTypes;
import dev.zlayer.image.store.BlobWriter;
import dev.zlayer.image.store.DiskContentStore;
import dev.zlayer.image.store.DiskContentStore.Stored;
import dev.zlayer.image.store.Hashes;
import dev.zlayer.image.store.Leases;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.Platform;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Writes configurations and manifests for content that came without. */
public final class NewImage {
  private static final int BUFFER = 128 << 10;

  /** How the history of an image names a layer that was made of a container. */
  public static final String COMMITTED = "zlayer commit";

  private NewImage() {}

  /** Makes an image of one layer from the archive of a root file system, packed or not. */
  public static Descriptor ofRoot(
      DiskContentStore content,
      Leases.Lease lease,
      InputStream tar,
      Platform platform,
      List<ConfigChange> changes,
      Optional<String> comment,
      Instant now,
      long limit)
      throws IOException {
    Stored layer = take(content, lease, tar);
    Json config = config(diffId(content, layer.digest(), limit), platform, changes, comment, now);
    Descriptor packed = layer(content, layer.digest(), layer.size());
    return manifest(content, lease, put(content, lease, config), List.of(packed));
  }

  /** Writes a layer, uncompressed. */
  @FunctionalInterface
  public interface LayerWriter {
    void write(OutputStream tar) throws IOException, InterruptedException;
  }

  /** What is said about a new layer over an image. */
  public record Commit(
      Optional<String> author, Optional<String> message, List<ConfigChange> changes) {
    public Commit {
      changes = List.copyOf(changes);
    }
  }

  /** Makes an image of another one and a layer over it. */
  public static Descriptor over(
      DiskContentStore content,
      Leases.Lease lease,
      Manifest.Image base,
      LayerWriter writer,
      Commit commit,
      Instant now)
      throws IOException, InterruptedException {
    Stored layer = write(content, lease, writer);
    var layers = new ArrayList<>(base.layers());
    layers.add(Descriptor.of(MediaTypes.OCI_LAYER, layer.digest(), layer.size()));
    Json before = JsonText.parse(content.bytes(base.config().digest(), ImageConfig.MAX_BYTES));
    Json config = committed(before, layer.digest(), commit, now);
    return manifest(content, lease, put(content, lease, config), layers);
  }

  private static Stored write(DiskContentStore content, Leases.Lease lease, LayerWriter layer)
      throws IOException, InterruptedException {
    try (BlobWriter writer = content.writer("sha256")) {
      layer.write(
          new OutputStream() {
            @Override
            public void write(int one) throws IOException {
              writer.write(new byte[] {(byte) one}, 0, 1);
            }

            @Override
            public void write(byte[] bytes, int from, int length) throws IOException {
              writer.write(bytes, from, length);
            }
          });
      return writer.commit(lease);
    }
  }

  private static Json committed(Json before, Digest diffId, Commit commit, Instant now) {
    var config = new LinkedHashMap<>(before.members());
    config.put("created", Json.of(now));
    commit.author().ifPresent(author -> config.put("author", Json.of(author)));
    config.put("config", run(before.at("config").members(), commit.changes()));
    var diffIds = new ArrayList<>(before.at("rootfs").at("diff_ids").items());
    diffIds.add(Json.of(diffId));
    config.put("rootfs", Json.object().put("type", "layers").put("diff_ids", diffIds).build());
    var history = new ArrayList<>(before.at("history").items());
    history.add(
        Json.object()
            .put("created", now)
            .put("created_by", COMMITTED)
            .putIf("author", commit.author())
            .putIf("comment", commit.message())
            .build());
    config.put("history", Json.of(history));
    return new Json.Obj(config);
  }

  private static Json run(Map<String, Json> config, List<ConfigChange> changes) {
    Map<String, Json> changed = config;
    for (ConfigChange change : changes) {
      changed = change.apply(changed);
    }
    return new Json.Obj(changed);
  }

  /** Makes an image of a WebAssembly module: the module is the only layer, as it is. */
  public static Descriptor ofModule(
      DiskContentStore content, Leases.Lease lease, InputStream module) throws IOException {
    Stored layer = take(content, lease, module);
    Json config =
        Json.object()
            .put("architecture", "wasm")
            .put("os", "wasip1")
            .put("layerDigests", List.of(layer.digest()))
            .build();
    return manifest(
        content,
        lease,
        MediaTypes.WASM_CONFIG,
        put(content, lease, config),
        List.of(Descriptor.of(MediaTypes.WASM_LAYER, layer.digest(), layer.size())));
  }

  private static Stored take(DiskContentStore content, Leases.Lease lease, InputStream from)
      throws IOException {
    try (BlobWriter writer = content.writer("sha256")) {
      var buffer = new byte[BUFFER];
      int count = from.read(buffer);
      while (count >= 0) {
        writer.write(buffer, 0, count);
        count = from.read(buffer);
      }
      return writer.commit(lease);
    }
  }

  private static Json config(
      Digest diffId,
      Platform platform,
      List<ConfigChange> changes,
      Optional<String> comment,
      Instant now) {
    Json history =
        Json.object()
            .put("created", now)
            .put("created_by", "zlayer image import")
            .putIf("comment", comment)
            .build();
    return Json.object()
        .put("created", now)
        .put("architecture", platform.architecture())
        .put("os", platform.os())
        .putIf("variant", platform.variant())
        .put("config", run(Map.of(), changes))
        .put("rootfs", Json.object().put("type", "layers").put("diff_ids", List.of(diffId)).build())
        .put("history", List.of(history))
        .build();
  }

  /** Stores a manifest about content that is in the store. */
  static Descriptor manifest(
      DiskContentStore content, Leases.Lease lease, Stored config, List<Descriptor> layers)
      throws IOException {
    return manifest(content, lease, MediaTypes.OCI_CONFIG, config, layers);
  }

  private static Descriptor manifest(
      DiskContentStore content,
      Leases.Lease lease,
      String configType,
      Stored config,
      List<Descriptor> layers)
      throws IOException {
    Json manifest =
        Json.object()
            .put("schemaVersion", 2)
            .put("mediaType", MediaTypes.OCI_MANIFEST)
            .put("config", Descriptor.of(configType, config.digest(), config.size()).json())
            .put("layers", layers.stream().map(Descriptor::json).toList())
            .build();
    Stored stored = put(content, lease, manifest);
    return Descriptor.of(MediaTypes.OCI_MANIFEST, stored.digest(), stored.size());
  }

  /** Describes a layer by what its first bytes say about how it is packed. */
  static Descriptor layer(DiskContentStore content, Digest digest, long size) throws IOException {
    String magic;
    try (InputStream in = content.read(digest)) {
      magic = HexFormat.of().formatHex(in.readNBytes(4));
    }
    String suffix = magic.startsWith("1f8b") ? "+gzip" : magic.equals("28b52ffd") ? "+zstd" : "";
    return Descriptor.of(MediaTypes.OCI_LAYER + suffix, digest, size);
  }

  private static Stored put(DiskContentStore content, Leases.Lease lease, Json json)
      throws IOException {
    byte[] bytes = JsonText.bytes(json);
    Digest digest = Hashes.sha256(bytes);
    lease.add(digest);
    content.put(digest, bytes);
    return new Stored(digest, bytes.length);
  }

  private static Digest diffId(DiskContentStore content, Digest blob, long limit)
      throws IOException {
    try (InputStream in = content.read(blob);
        InputStream plain = Decompression.open(in)) {
      return Hashes.sha256(new Bounded(plain, limit));
    }
  }

  /** Ends a bomb. */
  private static final class Bounded extends java.io.FilterInputStream {
    private long left;

    Bounded(InputStream in, long limit) {
      super(in);
      this.left = limit;
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
      int count = super.read(into, offset, length);
      left -= Math.max(0, count);
      if (left < 0) {
        throw new InvalidImageException("the archive is larger than a layer may be");
      }
      return count;
    }
  }
}
