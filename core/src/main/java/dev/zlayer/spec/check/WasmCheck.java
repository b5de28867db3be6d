package dev.zlayer.spec.check;

import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.ServiceType;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.wasm.WasmCapabilities;
import dev.zlayer.spec.wasm.WasmSpec;
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
    if (type.perRequest()) {
      findings.notHonoured(path.key("service_type"), "requests are not passed to modules yet");
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
                capabilities
                    .written()
                    .forEach((name, wanted) -> capability(name, wanted, type, path, findings)));
  }

  private static void capability(
      String name, boolean wanted, ServiceType type, SpecPath path, Findings findings) {
    SpecPath key = path.key("capabilities").key(name);
    if (wanted && !ceiling(type).contains(name)) {
      findings.problem(key, "a program of this service_type can never use it, write false");
    } else if (!type.perRequest() && wanted != WasmCapabilities.OF_MODULES.contains(name)) {
      findings.notHonoured(
          key, wanted ? "modules have no such thing" : "every module has it, it cannot be taken");
    }
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
