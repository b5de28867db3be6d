package dev.zlayer.spec.wasm;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.value.ByteSize;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Settings of a WebAssembly program. */
@Doc("Settings of a WebAssembly program.")
public record WasmSpec(
    @Doc("Instances kept ready.") @Default("0") @Range(min = 0, max = 10_000) int minInstances,
    @Doc("Maximum number of instances.") @Default("10") @Range(min = 1, max = 10_000)
        int maxInstances,
    @Doc("Idle timeout of an instance.") @Default("300s") Duration idleTimeout,
    @Doc("Time limit of a request.") @Default("30s") Duration requestTimeout,
    @Doc("Memory limit of an instance.") Optional<ByteSize> maxMemory,
    @Doc("Instruction limit per request; 0 for no limit.") @Default("0") @Range(min = 0)
        long maxFuel,
    @Doc("How often a running instance is interrupted.") Optional<Duration> epochInterval,
    @Doc("Capabilities, within those of its type.") Optional<WasmCapabilities> capabilities,
    @Doc("Allow outgoing requests.") @Default("true") boolean allowHttpOutgoing,
    @Doc("Allowed hosts for outgoing requests (default: all).") List<String> allowedHosts,
    @Doc("Allow TCP.") @Default("false") boolean allowTcp,
    @Doc("Allow UDP.") @Default("false") boolean allowUdp,
    @Doc("Host directories the program can access.") List<WasmPreopen> preopens,
    @Doc("Allow the key-value store.") @Default("true") boolean kvEnabled,
    @Doc("Key namespace (default: the service's name).") Optional<String> kvNamespace,
    @Doc("Maximum size of a value.") @Default("1048576") ByteSize kvMaxValueSize,
    @Doc("Secrets the program may read.") List<String> secrets,
    @Doc("Compile before the first request.") @Default("true") boolean precompile) {}
