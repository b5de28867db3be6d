package dev.zlayer.image.archive;

import dev.zlayer.image.layer.Decompression;
import dev.zlayer.image.manifest.Descriptor;
import dev.zlayer.image.manifest.InvalidImageException;
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
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;

/** Writes configurations and manifests for content that came without. */
public final class NewImage {
  private static final int BUFFER = 128 << 10;

  private NewImage() {}

  /** Makes an image of one layer from the archive of a root file system, packed or not. */
  public static Descriptor ofRoot(
      DiskContentStore content,
      Leases.Lease lease,
      InputStream tar,
      Platform platform,
      Instant now,
      long limit)
      throws IOException {
    Stored layer = take(content, lease, tar);
    Json config = config(diffId(content, layer.digest(), limit), platform, now);
    Descriptor packed = layer(content, layer.digest(), layer.size());
    return manifest(content, lease, put(content, lease, config), List.of(packed));
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

  private static Json config(Digest diffId, Platform platform, Instant now) {
    Json history =
        Json.object().put("created", now).put("created_by", "zlayer image import").build();
    return Json.object()
        .put("created", now)
        .put("architecture", platform.architecture())
        .put("os", platform.os())
        .putIf("variant", platform.variant())
        .put("config", Json.object().build())
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
