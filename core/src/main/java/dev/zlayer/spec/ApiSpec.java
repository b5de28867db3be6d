package dev.zlayer.spec;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import java.util.Optional;

/** Settings of the agent's interface as the file may carry them; the agent has its own. */
@Doc("The agent's own interface; set in the agent's configuration instead.")
public record ApiSpec(
    @Doc("Whether the interface is served.") @Default("true") boolean enabled,
    @Doc("Address and port to listen on.") @Default("0.0.0.0:3669") String bind,
    @Doc("Secret that signs tokens.") Optional<String> jwtSecret,
    @Doc("Whether to serve an interactive description.") @Default("true") boolean swagger) {}
