package dev.zlayer.image;

import dev.zlayer.image.layer.Decompression;
import dev.zlayer.image.manifest.InvalidImageException;
import dev.zlayer.image.manifest.MediaTypes;
import dev.zlayer.image.store.DiskContentStore;
import dev.zlayer.image.store.Hashes;
import dev.zlayer.image.store.ImageRecord;
import dev.zlayer.port.ImageDetails.Layer;
import dev.zlayer.port.ImageDetails.RunConfig;
import dev.zlayer.tar.TarKind;
import dev.zlayer.tar.TarMember;
import dev.zlayer.tar.TarReader;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Finds the module of an image: its layer, or the one module file in its archives. */
record ModuleFile(DiskContentStore content) {
  /** How every module begins. */
  static final byte[] MAGIC = {0, 'a', 's', 'm'};

  /** Little enough to be held in memory: a heap that is used up ends the agent. */
  private static final int LIMIT = (int) Math.min(256 << 20, Runtime.getRuntime().maxMemory() / 16);

  byte[] read(ImageRecord image, Optional<RunConfig> run) throws IOException, InterruptedException {
    Optional<Layer> bare =
        image.layers().stream()
            .filter(layer -> MediaTypes.wasmLayer(layer.mediaType()))
            .findFirst();
    byte[] module =
        bare.isPresent()
            ? content.bytes(bare.get().digest(), LIMIT)
            : packed(image.layers(), run.map(RunConfig::entrypoint).orElse(List.of()));
    if (bare.isPresent() && !Hashes.of(module, bare.get().digest()).equals(bare.get().digest())) {
      throw new IOException("blob %s is damaged: run image fsck".formatted(bare.get().digest()));
    }
    if (module.length < MAGIC.length
        || !Arrays.equals(module, 0, MAGIC.length, MAGIC, 0, MAGIC.length)) {
      throw new InvalidImageException("its content is not a WebAssembly module");
    }
    return module;
  }

  /** The module that the entrypoint names, else the only one. */
  private byte[] packed(List<Layer> layers, List<String> entrypoint)
      throws IOException, InterruptedException {
    var found = new LinkedHashMap<String, byte[]>();
    for (Layer layer : layers) {
      try (InputStream blob = content.read(layer.digest());
          InputStream plain = Decompression.open(blob)) {
        collect(new TarReader(plain), found);
      }
    }
    String wanted = entrypoint.isEmpty() ? "" : name(entrypoint.getFirst());
    byte[] named = found.get(wanted);
    if (named != null) {
      return named;
    }
    if (found.size() != 1) {
      throw new InvalidImageException(
          found.isEmpty()
              ? "there is no .wasm file in it"
              : "it has %d modules and its entrypoint names none of them".formatted(found.size()));
    }
    return found.values().iterator().next();
  }

  private static void collect(TarReader tar, Map<String, byte[]> found)
      throws IOException, InterruptedException {
    long total =
        found.entrySet().stream()
            .mapToLong(module -> module.getKey().length() + module.getValue().length)
            .sum();
    for (var member = tar.next(); member.isPresent(); member = tar.next()) {
      TarMember file = member.get();
      if (file.kind() == TarKind.FILE && file.name().endsWith(".wasm")) {
        total += file.size() + file.name().length();
        if (total > LIMIT) {
          throw new InvalidImageException("its modules are over %d bytes".formatted(LIMIT));
        }
        var bytes = new byte[(int) file.size()];
        tar.content(
            (offset, data, from, length) ->
                System.arraycopy(data, from, bytes, (int) offset, length));
        found.put(name(file.name()), bytes);
      }
    }
  }

  /** Names have up to a mebibyte: no expression that recurses over them. */
  private static String name(String path) {
    int at = 0;
    while (path.startsWith("/", at) || path.startsWith("./", at)) {
      at += path.charAt(at) == '/' ? 1 : 2;
    }
    return path.substring(at);
  }
}
