package dev.zlayer.runtime.composite;

import dev.zlayer.error.AgentException;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
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
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The images of all runtimes as one. The primary has to do its part; trouble of another is reported
 * and does not fail the call, unless nobody did what was asked.
 */
sealed class CompositeImages implements Images permits ArchivingImages {
  final List<ContainerRuntime> runtimes;
  private final ImageKnowledge knowledge;
  private final Reports reports;
  private final PullRouting routing;

  CompositeImages(List<ContainerRuntime> runtimes, ImageKnowledge knowledge, Reports reports) {
    this.runtimes = runtimes;
    this.knowledge = knowledge;
    this.reports = reports;
    this.routing = new PullRouting(runtimes, knowledge, reports);
  }

  @Override
  public ImageInfo pull(PullRequest request, Consumer<PullEvent> progress)
      throws InterruptedException {
    return routing.pull(request, progress);
  }

  @Override
  public PlatformAnswer platformOf(ImageRef image, Optional<RegistryAuth> auth)
      throws InterruptedException {
    return knowledge.ask(image, auth);
  }

  /** One entry per image; a reference is listed once, with the first runtime that has it. */
  @Override
  public List<ImageInfo> list() {
    var merged = new LinkedHashMap<Digest, ImageInfo>();
    Set<ImageRef> listed = new LinkedHashSet<>();
    for (ContainerRuntime runtime : runtimes) {
      try {
        for (ImageInfo image : runtime.images().list()) {
          merge(merged, listed, image);
        }
      } catch (AgentException e) {
        reportUnlessPrimary(runtime, "listing images", e);
      }
    }
    return List.copyOf(merged.values());
  }

  private static void merge(Map<Digest, ImageInfo> merged, Set<ImageRef> listed, ImageInfo image) {
    List<ImageRef> fresh = image.references().stream().filter(listed::add).toList();
    ImageInfo same = merged.get(image.digest());
    if (same == null && fresh.isEmpty() && !image.references().isEmpty()) {
      return;
    }
    ImageInfo base = same == null ? image : same;
    List<ImageRef> references = new ArrayList<>(same == null ? List.of() : same.references());
    references.addAll(fresh);
    merged.put(
        image.digest(),
        new ImageInfo(
            base.digest(),
            references,
            base.platform(),
            base.kind(),
            base.contentBytes(),
            base.createdAt()));
  }

  @Override
  public Optional<ImageDetails> find(ImageRef image) {
    for (ContainerRuntime runtime : runtimes) {
      try {
        Optional<ImageDetails> found = runtime.images().find(image);
        if (found.isPresent()) {
          return found;
        }
      } catch (AgentException e) {
        reportUnlessPrimary(runtime, "looking for image " + image, e);
      }
    }
    return Optional.empty();
  }

  @Override
  public void tag(ImageRef source, ImageRef target) {
    everywhere(
        source,
        "tagging image " + source,
        images -> {
          images.tag(source, target);
          return new ImageRemoval(List.of(), List.of(), 0);
        });
    knowledge.forget(target);
  }

  @Override
  public ImageRemoval remove(ImageRef image, boolean force) {
    ImageRemoval removal =
        everywhere(image, "removing image " + image, images -> images.remove(image, force));
    knowledge.forget(image);
    return removal;
  }

  @Override
  public ImageRemoval prune(PruneFilter filter) {
    ImageRemoval sum = new ImageRemoval(List.of(), List.of(), 0);
    for (ContainerRuntime runtime : runtimes) {
      try {
        sum = plus(sum, runtime.images().prune(filter));
      } catch (AgentException e) {
        reportUnlessPrimary(runtime, "pruning images", e);
      }
    }
    return sum;
  }

  /** Something that is done to an image by one runtime. */
  private interface Step {
    ImageRemoval on(Images images);
  }

  /**
   * Reaches every runtime that has the image, also after a failure. An image in use is the caller's
   * to know, wherever it is; other trouble fails the call only if no runtime did its part.
   */
  private ImageRemoval everywhere(ImageRef image, String doing, Step step) {
    Optional<ImageRemoval> sum = Optional.empty();
    Optional<AgentException> refusal = Optional.empty();
    Optional<AgentException> failure = Optional.empty();
    for (ContainerRuntime runtime : runtimes) {
      try {
        if (runtime.images().find(image).isPresent()) {
          ImageRemoval part = step.on(runtime.images());
          sum = Optional.of(sum.map(before -> plus(before, part)).orElse(part));
        }
      } catch (AgentException.InvalidSpec e) {
        refusal = refusal.or(() -> Optional.of(e));
      } catch (AgentException e) {
        failure = failure.or(() -> Optional.of(e));
        reports.trouble(runtime.name(), doing, e);
      }
    }
    refusal.ifPresent(
        e -> {
          throw e;
        });
    if (sum.isPresent()) {
      return sum.get();
    }
    throw failure.orElseGet(
        () ->
            new AgentException.NotFound("image '" + image + "'", "no runtime of this node has it"));
  }

  private void reportUnlessPrimary(ContainerRuntime runtime, String doing, AgentException e) {
    if (runtime.equals(runtimes.getFirst())) {
      throw e;
    }
    reports.trouble(runtime.name(), doing, e);
  }

  private static ImageRemoval plus(ImageRemoval one, ImageRemoval other) {
    return new ImageRemoval(
        union(one.untagged(), other.untagged()),
        union(one.deleted(), other.deleted()),
        one.reclaimedBytes() + other.reclaimedBytes());
  }

  private static <T> List<T> union(List<T> one, List<T> other) {
    var all = new LinkedHashSet<>(one);
    all.addAll(other);
    return List.copyOf(all);
  }
}
