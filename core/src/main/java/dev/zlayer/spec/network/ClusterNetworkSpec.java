package dev.zlayer.spec.network;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;

/** Networks that span several nodes. */
@Doc("Networks that span several nodes.")
public record ClusterNetworkSpec(
    @Doc("The two networks.") @Default("{}") Overlays overlays,
    @Doc("Who may join.") @Default("{}") Join join) {
  @Doc("The network of the service and the one of the cluster.")
  public record Overlays(
      @Doc("Network of this service.") @Default("{}") Level service,
      @Doc("Network of all services; not isolated when nothing is said.")
          @Default("{isolated: false}")
          Level global) {}

  @Doc("One of the networks.")
  public record Level(
      @Doc("Whether the service is in it.") @Default("true") boolean enabled,
      @Doc("Whether traffic is encrypted.") @Default("true") boolean encrypted,
      @Doc("Whether others are kept out.") @Default("true") boolean isolated) {}

  @Doc("Who may join the network.")
  public record Join(
      @Doc("How to join.") @Default("token") Mode mode,
      @Doc("Which network to join.") @Default("service") Scope scope) {}

  public enum Mode {
    OPEN,
    TOKEN,
    CLOSED
  }

  public enum Scope {
    SERVICE,
    GLOBAL
  }
}
