package dev.zlayer.runtime.lifecycle;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.Images;

/** Finds the image of a container and makes sure that a runtime can run it. */
public final class ImageCheck {
  private ImageCheck() {}

  /**
   * The image as it is here. One that names no platform is taken for one of the runtime's.
   *
   * @throws AgentException.NotFound it is not here
   * @throws AgentException.WrongPlatform it is not for this runtime, or not as the spec wants it
   */
  public static ImageDetails find(
      String runtime, Capabilities capabilities, Images images, ContainerSpec spec) {
    ImageDetails image =
        images
            .find(spec.image())
            .orElseThrow(
                () ->
                    new AgentException.NotFound(
                        "image " + spec.image(), "pull it before making a container of it"));
    Platform built =
        image.info().platform().orElseGet(() -> capabilities.platforms().iterator().next());
    boolean wanted = spec.platform().map(platform -> platform.runs(built)).orElse(true);
    if (!wanted
        || !capabilities.serves(built)
        || !capabilities.artifacts().contains(image.info().kind())) {
      throw new AgentException.WrongPlatform(
          runtime,
          spec.platform().map(Platform::toString).orElse(capabilities.platforms().toString()),
          built.toString(),
          spec.image().toString());
    }
    return image;
  }
}
