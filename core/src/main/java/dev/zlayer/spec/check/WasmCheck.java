package dev.zlayer.spec.check;

import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.ServiceType;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.wasm.WasmCapabilities;
import dev.zlayer.spec.wasm.WasmSpec;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** WebAssembly settings: only for such programs, and never more than their type may do. */
final class WasmCheck {
  private WasmCheck() {}

  static void check(ServiceSpec service, SpecPath path, Findings findings) {
    if (!findings.clean(path.key("service_type"))) {
      return;
    }
    ServiceType type = service.serviceType();
    SpecPath wasmPath =
        findings.written(path.key("wasm_http")) ? path.key("wasm_http") : path.key("wasm");
    if (service.wasm().isPresent()) {
      if (!type.wasm()) {
        findings.problem(
            wasmPath, "is only for WebAssembly, write a service_type such as wasm_http");
        return;
      }
      checkSettings(service.wasm().get(), type, wasmPath, findings);
    }
    boolean served =
        service.networking().endpoints().stream()
            .map(EndpointSpec::protocol)
            .anyMatch(EndpointSpec.Protocol::http);
    if (type == ServiceType.WASM_HTTP && !served && findings.clean(path.key("endpoints"))) {
      findings.problem(
          path.key("endpoints"), "service_type wasm_http needs one with protocol http, write it");
    }
  }

  private static void checkSettings(
      WasmSpec wasm, ServiceType type, SpecPath path, Findings findings) {
    if (wasm.minInstances() > wasm.maxInstances() && findings.clean(path.key("max_instances"))) {
      findings.problem(
          path.key("min_instances"),
          "%d is more than max_instances, which is %d, write a smaller number"
              .formatted(wasm.minInstances(), wasm.maxInstances()));
    }
    wasm.capabilities()
        .ifPresent(
            capabilities ->
                written(capabilities)
                    .forEach(
                        (name, value) -> {
                          if (value.orElse(false) && !ceiling(type).contains(name)) {
                            findings.problem(
                                path.key("capabilities").key(name),
                                "a program of this service_type can never use it, write false");
                          }
                        }));
  }

  private static Map<String, Optional<Boolean>> written(WasmCapabilities capabilities) {
    var map = new LinkedHashMap<String, Optional<Boolean>>();
    map.put("config", capabilities.config());
    map.put("keyvalue", capabilities.keyvalue());
    map.put("logging", capabilities.logging());
    map.put("secrets", capabilities.secrets());
    map.put("metrics", capabilities.metrics());
    map.put("http_client", capabilities.httpClient());
    map.put("cli", capabilities.cli());
    map.put("filesystem", capabilities.filesystem());
    map.put("sockets", capabilities.sockets());
    return map;
  }

  /** What a program of the type may use at most. */
  private static Set<String> ceiling(ServiceType type) {
    return switch (type) {
      case WASM_HTTP, WASM_ROUTER -> Set.of("config", "keyvalue", "logging", "http_client");
      case WASM_PLUGIN ->
          Set.of(
              "config",
              "keyvalue",
              "logging",
              "secrets",
              "metrics",
              "http_client",
              "cli",
              "filesystem");
      case WASM_TRANSFORMER -> Set.of("logging", "cli");
      case WASM_AUTHENTICATOR -> Set.of("config", "logging", "secrets", "http_client");
      case WASM_RATE_LIMITER -> Set.of("config", "keyvalue", "logging", "metrics", "cli");
      case WASM_MIDDLEWARE -> Set.of("config", "logging", "http_client");
      case STANDARD, JOB -> Set.of();
    };
  }
}
