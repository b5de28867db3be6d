package dev.zlayer.spec.network;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import java.util.Optional;

/** Which network over several nodes a service joins. */
@Doc("Which network over several nodes a service joins.")
public record OverlaySpec(
    @Doc("Share the deployment's network or use a separate one.") @Default("auto") Mode mode,
    @Doc("Parent network.") Optional<String> parent) {
  public enum Mode {
    AUTO,
    SHARED,
    DEDICATED
  }
}
