package dev.zlayer.runtime.composite;

import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.PlatformAnswer;
import dev.zlayer.port.RegistryAuth;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What images were built for. What a runtime has present counts first; what a registry once said is
 * remembered for images that could not be pulled, newest thousand only. Only an answer that says
 * something changes what is remembered.
 */
final class ImageKnowledge {
  private static final int MAX_LEARNED = 1000;
  private static final PlatformAnswer UNKNOWN =
      new PlatformAnswer.Unrecognised("nothing is known about it");

  private final List<ContainerRuntime> runtimes;
  private final Map<ImageRef, PlatformAnswer.Recognised> learned = new LinkedHashMap<>();

  ImageKnowledge(List<ContainerRuntime> runtimes) {
    this.runtimes = runtimes;
  }

  /** Without any network. */
  PlatformAnswer of(ImageRef image) {
    var platforms = new ArrayList<Platform>();
    var kinds = new ArrayList<dev.zlayer.port.Capabilities.ArtifactKind>();
    for (ContainerRuntime runtime : runtimes) {
      present(runtime, image)
          .ifPresent(
              details ->
                  details
                      .info()
                      .platform()
                      .ifPresent(
                          platform -> {
                            platforms.add(platform);
                            kinds.add(details.info().kind());
                          }));
    }
    if (!platforms.isEmpty()) {
      return new PlatformAnswer.Recognised(platforms, kinds.getFirst());
    }
    synchronized (learned) {
      PlatformAnswer.Recognised answer = learned.get(image);
      return answer == null ? UNKNOWN : answer;
    }
  }

  /** Asks the runtimes in turn, registries included, until one knows. */
  PlatformAnswer ask(ImageRef image, Optional<RegistryAuth> auth) throws InterruptedException {
    PlatformAnswer last = UNKNOWN;
    for (ContainerRuntime runtime : runtimes) {
      last = answer(runtime, image, auth);
      learn(image, last);
      if (last instanceof PlatformAnswer.Recognised) {
        return last;
      }
    }
    PlatformAnswer known = of(image);
    return known instanceof PlatformAnswer.Recognised ? known : last;
  }

  private static PlatformAnswer answer(
      ContainerRuntime runtime, ImageRef image, Optional<RegistryAuth> auth)
      throws InterruptedException {
    try {
      return runtime.images().platformOf(image, auth);
    } catch (AgentException e) {
      return new PlatformAnswer.Failing(String.valueOf(e.getMessage()));
    }
  }

  void learn(ImageRef image, PlatformAnswer answer) {
    if (answer instanceof PlatformAnswer.Recognised recognised) {
      synchronized (learned) {
        learned.remove(image);
        learned.put(image, recognised);
        while (learned.size() > MAX_LEARNED) {
          learned.remove(learned.keySet().iterator().next());
        }
      }
    }
  }

  void forget(ImageRef image) {
    synchronized (learned) {
      learned.remove(image);
    }
  }

  /** The image as this runtime has it; one that does not answer has nothing. */
  static Optional<ImageDetails> present(ContainerRuntime runtime, ImageRef image) {
    try {
      return runtime.images().find(image);
    } catch (AgentException.Network | AgentException.Timeout _) {
      return Optional.empty();
    }
  }
}
