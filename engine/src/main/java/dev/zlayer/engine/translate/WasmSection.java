package dev.zlayer.engine.translate;

import dev.zlayer.container.FileSystemSpec;
import dev.zlayer.container.Mount;
import dev.zlayer.container.Resources;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.value.ByteSize;
import dev.zlayer.spec.wasm.WasmPreopen;
import dev.zlayer.spec.wasm.WasmSpec;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Settings of WebAssembly modules that are run as programs. */
final class WasmSection {
  /** Tells the runtime to compile a module when it is started. */
  static final String PRECOMPILE = "dev.zlayer.wasm/precompile";

  private WasmSection() {}

  /** Preopened directories are mounts like others. */
  static FileSystemSpec mounts(ServiceSpec service, Path directory, FileSystemSpec others) {
    var mounts = new ArrayList<>(others.mounts());
    for (WasmPreopen preopen : service.wasm().map(WasmSpec::preopens).orElse(List.of())) {
      mounts.add(
          new Mount.Bind(
              directory.resolve(preopen.source()).normalize(),
              preopen.target(),
              preopen.readonly()));
    }
    return new FileSystemSpec(mounts, others.readOnlyRoot());
  }

  /** The smaller one of two limits holds. */
  static Resources resources(ServiceSpec service, Resources others) {
    Optional<ByteSize> most = service.wasm().flatMap(WasmSpec::maxMemory);
    return most.map(
            size ->
                others.withMemory(
                    Math.min(size.bytes(), others.memoryBytes().orElse(size.bytes()))))
        .orElse(others);
  }

  static Map<String, String> labels(ServiceSpec service) {
    return service.wasm().map(WasmSpec::precompile).orElse(true)
        ? Map.of()
        : Map.of(PRECOMPILE, "false");
  }
}
