package dev.zlayer.port;

import dev.zlayer.oci.ImageRef;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * The images a runtime can use.
 *
 * <p>A reference points to an image by tag, or by digest. Several references may point to one
 * image; images share layers. An image that no reference points to is dangling, and {@link #prune}
 * takes it away unless a container uses it.
 *
 * <p>Only {@link #pull} and {@link #platformOf} ever use the network.
 */
public interface Images {
  /**
   * Makes the image present as its policy asks, and returns what is present then. Blocks; reports
   * progress from any thread, in order per layer. Two pulls of the same content share its download.
   * An interrupted or failed pull leaves no reference behind and can go on where it was.
   *
   * @throws dev.zlayer.error.AgentException.NotFound policy never and the image is not present
   * @throws dev.zlayer.error.AgentException.PullFailed it could not be fetched or is not sound
   * @throws dev.zlayer.error.AgentException.Network no registry or mirror could be reached
   * @throws dev.zlayer.error.AgentException.WrongPlatform the image is not for this runtime
   */
  ImageInfo pull(PullRequest request, Consumer<PullEvent> progress) throws InterruptedException;

  /**
   * The platform an image was built for, from what is present, else from the registry without
   * fetching layers. Never throws for an image or a registry that misbehaves: that is an answer.
   */
  PlatformAnswer platformOf(ImageRef image, Optional<RegistryAuth> auth)
      throws InterruptedException;

  /** All images, one entry per image with all its references. */
  List<ImageInfo> list();

  /** One image with its configuration. */
  Optional<ImageDetails> find(ImageRef image);

  /** Makes {@code target} point to the image of {@code source}; moves it if it exists. */
  void tag(ImageRef source, ImageRef target);

  /**
   * Removes a reference, and the image with it if it was the last one.
   *
   * @throws dev.zlayer.error.AgentException.NotFound there is no such image
   * @throws dev.zlayer.error.AgentException.InvalidSpec containers use it and {@code force} is not
   *     set; they are named
   */
  ImageRemoval remove(ImageRef image, boolean force);

  /** Removes images that no container uses, as the filter asks, and whatever nothing refers to. */
  ImageRemoval prune(PruneFilter filter);
}
