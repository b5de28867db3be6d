package dev.zlayer.engine.translate;

import dev.zlayer.container.FileSystemSpec;
import dev.zlayer.container.Mount;
import dev.zlayer.container.Resources;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.value.ByteSize;
import dev.zlayer.spec.wasm.WasmCapabilities;
import dev.zlayer.spec.wasm.WasmPreopen;
import dev.zlayer.spec.wasm.WasmSpec;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Settings of WebAssembly modules that are run as programs; those called per request are refused.
 */
final class WasmSection {
  /** Tells the runtime to compile a module when it is started. */
  static final String PRECOMPILE = "dev.zlayer.wasm/precompile";

  private static final String REQUESTS = "requests are not passed to modules yet";
  private static final String SCALE = "the number of modules is that of scale";
  private static final String SOCKETS = "modules have no network";
  private static final String KEYS = "modules keep nothing by key, give them a volume";
  private static final WasmSpec USUAL =
      new WasmSpec(
          0,
          10,
          Duration.ofSeconds(300),
          Duration.ofSeconds(30),
          Optional.empty(),
          0,
          Optional.empty(),
          Optional.empty(),
          true,
          List.of(),
          false,
          false,
          List.of(),
          true,
          Optional.empty(),
          new ByteSize(1 << 20),
          List.of(),
          true);

  private WasmSection() {}

  static void check(ServiceSpec service, Refusals refusals) {
    refusals.addIf(service.serviceType().perRequest(), "service_type", REQUESTS);
    service.wasm().ifPresent(wasm -> check(wasm, refusals));
  }

  private static void check(WasmSpec wasm, Refusals refusals) {
    refusals.addIf(wasm.minInstances() != USUAL.minInstances(), "wasm.min_instances", SCALE);
    refusals.addIf(wasm.maxInstances() != USUAL.maxInstances(), "wasm.max_instances", SCALE);
    refusals.addIf(!wasm.idleTimeout().equals(USUAL.idleTimeout()), "wasm.idle_timeout", REQUESTS);
    refusals.addIf(
        !wasm.requestTimeout().equals(USUAL.requestTimeout()), "wasm.request_timeout", REQUESTS);
    refusals.addIf(
        wasm.maxFuel() != 0,
        "wasm.max_fuel",
        "instructions are not counted, give a job a deadline");
    refusals.addIf(
        wasm.epochInterval().isPresent(),
        "wasm.epoch_interval",
        "a module can be ended at any time without it");
    refusals.addIf(!wasm.allowedHosts().isEmpty(), "wasm.allowed_hosts", SOCKETS);
    refusals.addIf(wasm.allowTcp(), "wasm.allow_tcp", SOCKETS);
    refusals.addIf(wasm.allowUdp(), "wasm.allow_udp", SOCKETS);
    refusals.addIf(wasm.kvNamespace().isPresent(), "wasm.kv_namespace", KEYS);
    refusals.addIf(
        !wasm.kvMaxValueSize().equals(USUAL.kvMaxValueSize()), "wasm.kv_max_value_size", KEYS);
    refusals.addIf(
        !wasm.secrets().isEmpty(),
        "wasm.secrets",
        "give them to the module as variables, with $S:");
    wasm.capabilities().ifPresent(capabilities -> check(capabilities, refusals));
    for (int i = 0; i < wasm.preopens().size(); i++) {
      refusals.addIf(
          !wasm.preopens().get(i).target().startsWith("/"),
          "wasm.preopens[%d].target".formatted(i),
          "write an absolute path");
    }
  }

  private static void check(WasmCapabilities capabilities, Refusals refusals) {
    capabilities
        .written()
        .forEach(
            (name, wanted) ->
                refusals.addIf(
                    wanted != WasmCapabilities.OF_MODULES.contains(name),
                    "wasm.capabilities." + name,
                    wanted
                        ? "modules have no such thing"
                        : "every module has it, it cannot be taken"));
  }

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
