package dev.zlayer.daemon.metrics;

import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.ImageRemoval;
import dev.zlayer.port.Images;
import dev.zlayer.port.PlatformAnswer;
import dev.zlayer.port.PruneFilter;
import dev.zlayer.port.PullEvent;
import dev.zlayer.port.PullRequest;
import dev.zlayer.port.RegistryAuth;
import dev.zlayer.task.Stopwatch;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/** Measures pulls. */
final class MeteredImages implements Images {
  private final Images images;
  private final Metrics metrics;

  MeteredImages(Images images, Metrics metrics) {
    this.images = images;
    this.metrics = metrics;
  }

  @Override
  public ImageInfo pull(PullRequest request, Consumer<PullEvent> progress)
      throws InterruptedException {
    var watch = Stopwatch.started();
    try {
      ImageInfo image = images.pull(request, progress);
      tell("present", watch);
      return image;
    } catch (AgentException e) {
      tell(e.kind(), watch);
      throw e;
    }
  }

  private void tell(String result, Stopwatch watch) {
    metrics.took(
        "zlayer_image_pull_seconds",
        "How long it took until an image was present, by result.",
        Map.of("result", result),
        watch.passed());
  }

  @Override
  public PlatformAnswer platformOf(ImageRef image, Optional<RegistryAuth> auth)
      throws InterruptedException {
    return images.platformOf(image, auth);
  }

  @Override
  public List<ImageInfo> list() {
    return images.list();
  }

  @Override
  public Optional<ImageDetails> find(ImageRef image) {
    return images.find(image);
  }

  @Override
  public void tag(ImageRef source, ImageRef target) {
    images.tag(source, target);
  }

  @Override
  public ImageRemoval remove(ImageRef image, boolean force) {
    return images.remove(image, force);
  }

  @Override
  public ImageRemoval prune(PruneFilter filter) {
    return images.prune(filter);
  }
}
