package dev.zlayer.runtime.composite;

import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.ImageArchives;
import dev.zlayer.port.ImageInfo;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;

/** Images of which at least one runtime can read and write files; the first of them does it. */
final class ArchivingImages extends CompositeImages implements ImageArchives {
  ArchivingImages(List<ContainerRuntime> runtimes, ImageKnowledge knowledge, Reports reports) {
    super(runtimes, knowledge, reports);
  }

  static boolean possible(List<ContainerRuntime> runtimes) {
    return runtimes.stream().anyMatch(runtime -> runtime.images() instanceof ImageArchives);
  }

  @Override
  public List<ImageInfo> load(InputStream tar) throws InterruptedException {
    return archives().getFirst().load(tar);
  }

  @Override
  public ImageInfo importRoot(InputStream tar, ImageRef as) throws InterruptedException {
    return archives().getFirst().importRoot(tar, as);
  }

  /** By a runtime that has them all; images in different runtimes do not fit into one file. */
  @Override
  public void save(List<ImageRef> images, OutputStream tar) throws InterruptedException {
    for (ContainerRuntime runtime : runtimes) {
      if (runtime.images() instanceof ImageArchives archives
          && images.stream()
              .allMatch(image -> ImageKnowledge.present(runtime, image).isPresent())) {
        archives.save(images, tar);
        return;
      }
    }
    throw new AgentException.NotFound(
        "images " + images, "no runtime of this node has all of them: save them one by one");
  }

  private List<ImageArchives> archives() {
    return runtimes.stream()
        .map(ContainerRuntime::images)
        .filter(ImageArchives.class::isInstance)
        .map(ImageArchives.class::cast)
        .toList();
  }
}
