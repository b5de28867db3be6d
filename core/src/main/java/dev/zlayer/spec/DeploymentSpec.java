package dev.zlayer.spec;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Keys;
import dev.zlayer.spec.form.Text;
import dev.zlayer.spec.network.ExternalSpec;
import dev.zlayer.spec.network.TunnelSpec;
import java.util.Map;

/** One deployment file. */
@Doc("A deployment: services, jobs and schedules that belong together.")
public record DeploymentSpec(
    @Doc("Version of the file format.") @Text(pattern = "v1", write = "v1") String version,
    @Doc("Name of the deployment: 3 to 63 letters, digits and hyphens.")
        @Text(
            pattern = "[A-Za-z0-9][A-Za-z0-9-]{2,62}",
            write = "3 to 63 letters, digits and hyphens, beginning with a letter or digit")
        String deployment,
    @Doc("The services, jobs and schedules by name.")
        @Keys(
            pattern = "[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?",
            write = "a name of at most 63 letters, digits, hyphens and underscores")
        Map<String, ServiceSpec> services,
    @Doc("Services outside of this deployment, by name.") Map<String, ExternalSpec> externals,
    @Doc("Tunnels between nodes, by name.") Map<String, TunnelSpec> tunnels,
    @Doc("The agent's own interface.") @Default("{}") ApiSpec api) {}
