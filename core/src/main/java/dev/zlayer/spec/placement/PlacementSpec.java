package dev.zlayer.spec.placement;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import java.util.Optional;

/** Where a service may run. */
public record PlacementSpec(
    @Doc("System and architecture to run on; the image's when absent.")
        Optional<PlatformSpec> platform,
    @Doc("Whether nodes are shared with other services.") @Default("shared") NodeMode nodeMode,
    @Doc("Labels that nodes must or should have.") Optional<NodeSelector> nodeSelector,
    @Doc("spread over nodes, pack onto few, or pin to one: {pin: id=2} or {pin: key=value}.")
        Optional<Affinity> affinity,
    @Doc("How a Windows container is isolated.") Optional<Isolation> isolation) {
  public enum NodeMode {
    SHARED,
    DEDICATED,
    EXCLUSIVE
  }

  public enum Isolation {
    AUTO,
    PROCESS,
    HYPERV
  }
}
