package dev.zlayer.runtime.composite;

import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.ImageArchives;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.util.List;
import java.util.Optional;

/**
 * Hands an image from the runtime that has it to the one that is to run it, without a registry: a
 * label or the platform of a spec may send a container elsewhere than the pull could know.
 */
record ImageCopy(List<ContainerRuntime> runtimes) {
  private static final int BUFFER = 1 << 20;

  /** Does nothing when the runtime has it, or when nobody can hand it over. */
  void ensure(ContainerRuntime target, ImageRef image) throws InterruptedException {
    if (!(target.images() instanceof ImageArchives into)
        || target.images().find(image).isPresent()) {
      return;
    }
    Optional<ImageArchives> from =
        runtimes.stream()
            .filter(runtime -> !runtime.equals(target))
            .filter(runtime -> runtime.images() instanceof ImageArchives)
            .filter(runtime -> ImageKnowledge.present(runtime, image).isPresent())
            .map(runtime -> (ImageArchives) runtime.images())
            .findFirst();
    if (from.isPresent()) {
      copy(from.get(), into, image);
    }
  }

  private static void copy(ImageArchives from, ImageArchives into, ImageRef image)
      throws InterruptedException {
    try (var in = new PipedInputStream(BUFFER);
        var out = new PipedOutputStream(in);
        var scope = new TaskScope("image-transfer")) {
      scope.fork(
          () -> {
            try (out) {
              from.save(List.of(image), out);
            }
            return image;
          });
      scope.fork(
          () -> {
            into.load(in);
            long _ = in.transferTo(java.io.OutputStream.nullOutputStream());
            return image;
          });
      scope.join();
    } catch (IOException e) {
      throw new AgentException.Internal("cannot hand over image " + image, e);
    }
  }
}
