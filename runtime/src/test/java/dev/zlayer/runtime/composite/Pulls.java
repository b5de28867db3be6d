package dev.zlayer.runtime.composite;

import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.PullRequest;

/** Pulls without caring about progress. */
final class Pulls {
  private Pulls() {}

  static ImageInfo pull(ContainerRuntime runtime, ImageRef image) throws InterruptedException {
    return runtime.images().pull(PullRequest.of(image, PullPolicy.IF_NOT_PRESENT), _ -> {});
  }
}
