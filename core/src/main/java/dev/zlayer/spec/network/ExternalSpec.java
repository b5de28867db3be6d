package dev.zlayer.spec.network;

import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.NotEmpty;
import dev.zlayer.spec.form.Text;
import dev.zlayer.spec.service.HealthSpec;
import java.util.List;
import java.util.Optional;

/** A service outside of the deployment. */
@Doc("A service outside of this deployment.")
public record ExternalSpec(
    @Doc("Addresses, as host:port.")
        @NotEmpty
        @Text(pattern = "\\S+:[0-9]{1,5}", write = "host:port")
        List<String> backends,
    @Doc("Its endpoints.") List<EndpointSpec> endpoints,
    @Doc("Health check.") Optional<HealthSpec> health) {}
