package dev.zlayer.spec.network;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import java.time.Duration;
import java.util.Optional;

/** Settings of a tcp or udp endpoint. */
@Doc("Settings of a tcp or udp endpoint.")
public record StreamSpec(
    @Doc("Terminate TLS at the proxy.") @Default("false") boolean tls,
    @Doc("Pass the client's address to the service with the PROXY protocol.") @Default("false")
        boolean proxyProtocol,
    @Doc("Idle timeout of a session.") Optional<Duration> sessionTimeout,
    @Doc("Health check of the endpoint.") Optional<StreamCheck> healthCheck) {}
