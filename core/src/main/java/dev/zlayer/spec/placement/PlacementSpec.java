package dev.zlayer.spec.placement;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import java.util.Optional;

/** Where a service may run. */
public record PlacementSpec(
    @Doc("Operating system and architecture (default: the image's).")
        Optional<PlatformSpec> platform,
    @Doc("Whether nodes are shared with other services.") @Default("shared") NodeMode nodeMode,
    @Doc("Labels that nodes must or should have.") Optional<NodeSelector> nodeSelector,
    @Doc("spread over nodes, pack onto few, or pin to one: {pin: id=2} or {pin: key=value}.")
        Optional<Affinity> affinity,
    @Doc("Isolation of Windows containers.") Optional<Isolation> isolation) {
  /** Without what chooses a node. */
  public PlacementSpec placed() {
    return new PlacementSpec(
        platform, NodeMode.SHARED, Optional.empty(), Optional.empty(), isolation);
  }

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
