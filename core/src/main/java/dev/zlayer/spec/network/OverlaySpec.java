package dev.zlayer.spec.network;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import java.util.Optional;

/** Which network over several nodes a service joins. */
@Doc("Which network over several nodes a service joins.")
public record OverlaySpec(
    @Doc("Share the network of the deployment or have an own one.") @Default("auto") Mode mode,
    @Doc("Network to hang it under.") Optional<String> parent) {
  public enum Mode {
    AUTO,
    SHARED,
    DEDICATED
  }
}
