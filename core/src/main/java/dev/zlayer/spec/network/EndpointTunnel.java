package dev.zlayer.spec.network;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import java.time.Duration;
import java.util.Optional;

/** A tunnel from an endpoint to another node. */
@Doc("A tunnel from an endpoint to another node.")
public record EndpointTunnel(
    @Doc("Whether the tunnel is on.") @Default("false") boolean enabled,
    @Doc("Node where it begins.") Optional<String> from,
    @Doc("Node where it ends.") Optional<String> to,
    @Doc("Port at the far end; 0 chooses a free one.") @Default("0") @Range(min = 0, max = 65_535)
        int remotePort,
    @Doc("From where the far end can be reached.") Optional<Exposure> expose,
    @Doc("Access on demand.") Optional<Access> access) {
  /** Access on demand. */
  @Doc("Access to a tunnel on demand.")
  public record Access(
      @Doc("Whether access must be asked for.") @Default("false") boolean enabled,
      @Doc("Longest time of access.") Optional<Duration> maxTtl,
      @Doc("Record every use.") @Default("false") boolean audit) {}
}
