package dev.zlayer.spec.network;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import java.util.Optional;

/** Which network over several nodes a service joins. */
@Doc("Which network over several nodes a service joins.")
public record OverlaySpec(
    @Doc("auto and shared: that of the deployment; dedicated is refused.") @Default("auto")
        Mode mode,
    @Doc("Parent network, of which cluster is the only one.") Optional<String> parent) {
  public enum Mode {
    AUTO,
    SHARED,
    DEDICATED
  }
}
