package dev.zlayer.spec.check;

import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.check.SupportCheck.Refusals;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.value.ByteSize;
import dev.zlayer.spec.wasm.WasmCapabilities;
import dev.zlayer.spec.wasm.WasmSpec;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Settings of WebAssembly modules that nothing acts on yet; part of {@link SupportCheck}. */
final class WasmSupport {
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

  private WasmSupport() {}

  static void find(ServiceSpec service, SpecPath path, Refusals refusals) {
    refusals.addIf(service.serviceType().perRequest(), path.key("service_type"), REQUESTS);
    service.wasm().ifPresent(wasm -> find(wasm, path.key("wasm"), refusals));
  }

  private static void find(WasmSpec wasm, SpecPath path, Refusals refusals) {
    refusals.addIf(wasm.minInstances() != USUAL.minInstances(), path.key("min_instances"), SCALE);
    refusals.addIf(wasm.maxInstances() != USUAL.maxInstances(), path.key("max_instances"), SCALE);
    refusals.addIf(
        !wasm.idleTimeout().equals(USUAL.idleTimeout()), path.key("idle_timeout"), REQUESTS);
    refusals.addIf(
        !wasm.requestTimeout().equals(USUAL.requestTimeout()),
        path.key("request_timeout"),
        REQUESTS);
    refusals.addIf(
        wasm.maxFuel() != 0,
        path.key("max_fuel"),
        "instructions are not counted, give a job a deadline");
    refusals.addIf(
        wasm.epochInterval().isPresent(),
        path.key("epoch_interval"),
        "a module can be ended at any time without it");
    refusals.addIf(!wasm.allowedHosts().isEmpty(), path.key("allowed_hosts"), SOCKETS);
    refusals.addIf(wasm.allowTcp(), path.key("allow_tcp"), SOCKETS);
    refusals.addIf(wasm.allowUdp(), path.key("allow_udp"), SOCKETS);
    refusals.addIf(wasm.kvNamespace().isPresent(), path.key("kv_namespace"), KEYS);
    refusals.addIf(
        !wasm.kvMaxValueSize().equals(USUAL.kvMaxValueSize()), path.key("kv_max_value_size"), KEYS);
    refusals.addIf(
        !wasm.secrets().isEmpty(),
        path.key("secrets"),
        "give them to the module as variables, with $S:");
    wasm.capabilities().ifPresent(wanted -> find(wanted, path.key("capabilities"), refusals));
    for (int i = 0; i < wasm.preopens().size(); i++) {
      refusals.addIf(
          !wasm.preopens().get(i).target().startsWith("/"),
          path.key("preopens").index(i).key("target"),
          "write an absolute path");
    }
  }

  private static void find(WasmCapabilities capabilities, SpecPath path, Refusals refusals) {
    capabilities
        .written()
        .forEach(
            (name, wanted) ->
                refusals.addIf(
                    wanted != WasmCapabilities.OF_MODULES.contains(name),
                    path.key(name),
                    wanted
                        ? "modules have no such thing"
                        : "every module has it, it cannot be taken"));
  }
}
