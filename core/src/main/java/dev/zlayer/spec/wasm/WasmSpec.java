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
    @Doc("Most instances.") @Default("10") @Range(min = 1, max = 10_000) int maxInstances,
    @Doc("An idle instance is dropped after this time.") @Default("300s") Duration idleTimeout,
    @Doc("A request that takes longer has failed.") @Default("30s") Duration requestTimeout,
    @Doc("Most memory of an instance.") Optional<ByteSize> maxMemory,
    @Doc("Most instructions per request; 0 for no limit.") @Default("0") @Range(min = 0)
        long maxFuel,
    @Doc("How often a running instance is interrupted.") Optional<Duration> epochInterval,
    @Doc("What it may use, within what its type may use at most.")
        Optional<WasmCapabilities> capabilities,
    @Doc("May send requests.") @Default("true") boolean allowHttpOutgoing,
    @Doc("Hosts it may send requests to; all when empty.") List<String> allowedHosts,
    @Doc("May use tcp.") @Default("false") boolean allowTcp,
    @Doc("May use udp.") @Default("false") boolean allowUdp,
    @Doc("Directories of the machine that it sees.") List<WasmPreopen> preopens,
    @Doc("May keep values by key.") @Default("true") boolean kvEnabled,
    @Doc("Name space of the keys; the service's name when absent.") Optional<String> kvNamespace,
    @Doc("Largest value.") @Default("1048576") ByteSize kvMaxValueSize,
    @Doc("Secrets it may read.") List<String> secrets,
    @Doc("Compile before the first request.") @Default("true") boolean precompile) {}
