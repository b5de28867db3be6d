package dev.zlayer.spec.wasm;

import dev.zlayer.spec.form.Doc;
import java.util.Optional;

/** What a program may use. An absent key means what the service type may use at most. */
@Doc("What a program may use; an absent key means: as much as its service_type may.")
public record WasmCapabilities(
    @Doc("Read its configuration.") Optional<Boolean> config,
    @Doc("Keep values by key.") Optional<Boolean> keyvalue,
    @Doc("Write logs.") Optional<Boolean> logging,
    @Doc("Read secrets.") Optional<Boolean> secrets,
    @Doc("Write metrics.") Optional<Boolean> metrics,
    @Doc("Send requests.") Optional<Boolean> httpClient,
    @Doc("Use arguments, environment and standard streams.") Optional<Boolean> cli,
    @Doc("Use files.") Optional<Boolean> filesystem,
    @Doc("Use sockets.") Optional<Boolean> sockets) {}
