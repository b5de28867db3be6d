package dev.zlayer.spec.wasm;

import dev.zlayer.spec.form.Doc;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** What a program may use. An absent key means what the service type may use at most. */
@Doc("Capabilities of a program; an absent key means as much as its service_type allows.")
public record WasmCapabilities(
    @Doc("Read its configuration.") Optional<Boolean> config,
    @Doc("Use the key-value store.") Optional<Boolean> keyvalue,
    @Doc("Write logs.") Optional<Boolean> logging,
    @Doc("Read secrets.") Optional<Boolean> secrets,
    @Doc("Write metrics.") Optional<Boolean> metrics,
    @Doc("Send requests.") Optional<Boolean> httpClient,
    @Doc("Use arguments, environment and standard streams.") Optional<Boolean> cli,
    @Doc("Use files.") Optional<Boolean> filesystem,
    @Doc("Use sockets.") Optional<Boolean> sockets) {
  /** What a module that is run as a program has: its output is its log, its mounts its files. */
  public static final Set<String> OF_MODULES = Set.of("logging", "cli", "filesystem");

  /** What is written, by key. */
  public Map<String, Boolean> written() {
    var map = new LinkedHashMap<String, Boolean>();
    config.ifPresent(value -> map.put("config", value));
    keyvalue.ifPresent(value -> map.put("keyvalue", value));
    logging.ifPresent(value -> map.put("logging", value));
    secrets.ifPresent(value -> map.put("secrets", value));
    metrics.ifPresent(value -> map.put("metrics", value));
    httpClient.ifPresent(value -> map.put("http_client", value));
    cli.ifPresent(value -> map.put("cli", value));
    filesystem.ifPresent(value -> map.put("filesystem", value));
    sockets.ifPresent(value -> map.put("sockets", value));
    return map;
  }
}
