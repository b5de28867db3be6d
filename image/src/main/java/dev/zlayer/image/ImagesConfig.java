package dev.zlayer.image;

import dev.zlayer.image.layer.LayerLimits;
import dev.zlayer.image.registry.Credentials;
import dev.zlayer.image.registry.ForwardProxies;
import dev.zlayer.image.registry.RegistriesConfig;
import dev.zlayer.image.registry.Timeouts;
import dev.zlayer.oci.Platform;
import java.time.InstantSource;

/**
 * How images are handled on this node.
 *
 * @param platform what images have to be built for unless a pull says otherwise
 * @param runtime the name under which a wrong platform is reported
 * @param parallelLayers how many layers, of all pulls together, are on their way at a time
 */
public record ImagesConfig(
    Platform platform,
    String runtime,
    RegistriesConfig registries,
    ForwardProxies proxies,
    Credentials credentials,
    Timeouts timeouts,
    LayerLimits layerLimits,
    int parallelLayers,
    InstantSource clock) {
  private static final int PARALLEL = 4;

  /** Nothing special: no credentials, no mirrors, plain HTTP on the loopback interface only. */
  public static ImagesConfig of(Platform platform, InstantSource clock) {
    return new ImagesConfig(
        platform,
        "oci",
        RegistriesConfig.EMPTY,
        ForwardProxies.NONE,
        Credentials.NONE,
        Timeouts.DEFAULT,
        LayerLimits.DEFAULT,
        PARALLEL,
        clock);
  }

  public ImagesConfig withRegistries(RegistriesConfig registries) {
    return new ImagesConfig(
        platform,
        runtime,
        registries,
        proxies,
        credentials,
        timeouts,
        layerLimits,
        parallelLayers,
        clock);
  }

  public ImagesConfig withProxies(ForwardProxies proxies) {
    return new ImagesConfig(
        platform,
        runtime,
        registries,
        proxies,
        credentials,
        timeouts,
        layerLimits,
        parallelLayers,
        clock);
  }

  public ImagesConfig withCredentials(Credentials credentials) {
    return new ImagesConfig(
        platform,
        runtime,
        registries,
        proxies,
        credentials,
        timeouts,
        layerLimits,
        parallelLayers,
        clock);
  }

  public ImagesConfig withTimeouts(Timeouts timeouts) {
    return new ImagesConfig(
        platform,
        runtime,
        registries,
        proxies,
        credentials,
        timeouts,
        layerLimits,
        parallelLayers,
        clock);
  }

  public ImagesConfig withLayerLimits(LayerLimits layerLimits) {
    return new ImagesConfig(
        platform,
        runtime,
        registries,
        proxies,
        credentials,
        timeouts,
        layerLimits,
        parallelLayers,
        clock);
  }
}
