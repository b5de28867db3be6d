package dev.zlayer.runtime.composite;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.ImageRemoval;
import dev.zlayer.port.Images;
import dev.zlayer.port.PlatformAnswer;
import dev.zlayer.port.PruneFilter;
import dev.zlayer.port.PullEvent;
import dev.zlayer.port.PullRequest;
import dev.zlayer.port.RegistryAuth;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** Pulls images like any other, but cannot tell what they are for, before or after. */
record UnknowingRuntime(ContainerRuntime real) implements ContainerRuntime {
  @Override
  public String name() {
    return real.name();
  }

  @Override
  public Capabilities capabilities() {
    return real.capabilities();
  }

  @Override
  public Container create(ContainerId id, ContainerSpec spec) throws InterruptedException {
    return real.create(id, spec);
  }

  @Override
  public Optional<Container> find(ContainerId id) {
    return real.find(id);
  }

  @Override
  public List<Container> list() {
    return real.list();
  }

  @Override
  public Images images() {
    Images images = real.images();
    return new Images() {
      @Override
      public ImageInfo pull(PullRequest request, Consumer<PullEvent> progress)
          throws InterruptedException {
        return images.pull(request, progress);
      }

      @Override
      public PlatformAnswer platformOf(ImageRef image, Optional<RegistryAuth> auth) {
        return new PlatformAnswer.Failing("nobody answers");
      }

      @Override
      public List<ImageInfo> list() {
        return images.list();
      }

      @Override
      public Optional<ImageDetails> find(ImageRef image) {
        return Optional.empty();
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
    };
  }
}
