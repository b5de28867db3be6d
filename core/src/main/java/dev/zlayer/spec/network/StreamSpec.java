package dev.zlayer.spec.network;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import java.time.Duration;
import java.util.Optional;

/** Settings of a tcp or udp endpoint. */
@Doc("Settings of a tcp or udp endpoint.")
public record StreamSpec(
    @Doc("End TLS at the proxy.") @Default("false") boolean tls,
    @Doc("Tell the service the client's address with the PROXY protocol.") @Default("false")
        boolean proxyProtocol,
    @Doc("Forget an idle session after this time.") Optional<Duration> sessionTimeout,
    @Doc("How to check the service.") Optional<StreamCheck> healthCheck) {}
