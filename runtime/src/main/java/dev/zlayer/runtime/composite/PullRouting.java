package dev.zlayer.runtime.composite;

import dev.zlayer.error.AgentException;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.PlatformAnswer;
import dev.zlayer.port.PullEvent;
import dev.zlayer.port.PullRequest;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Brings an image to the runtime that will run it, and nowhere else. Only when nobody can tell its
 * platform beforehand every runtime is asked. A runtime that says {@link
 * AgentException.WrongPlatform} is passed over.
 */
record PullRouting(List<ContainerRuntime> runtimes, ImageKnowledge knowledge, Reports reports) {
  ImageInfo pull(PullRequest request, Consumer<PullEvent> progress) throws InterruptedException {
    if (request.platform().isPresent()) {
      // what nobody here runs needs another node, whether the image is here or not
      ContainerRuntime _ = choose(runtimes, request, knowledge.of(request.image()));
    }
    if (request.policy() == PullPolicy.NEVER) {
      return present(request).images().pull(request, progress);
    }
    PlatformAnswer known =
        request.platform().isPresent()
            ? knowledge.of(request.image())
            : knowledge.ask(request.image(), request.auth());
    boolean told = request.platform().isPresent() || known instanceof PlatformAnswer.Recognised;
    return told ? toTheOne(request, known, progress) : toAll(request, progress);
  }

  /** Whoever has it; without a network nobody else can be asked what it is for. */
  private ContainerRuntime present(PullRequest request) {
    return runtimes.stream()
        .filter(runtime -> ImageKnowledge.present(runtime, request.image()).isPresent())
        .findFirst()
        .orElseGet(runtimes::getFirst);
  }

  /** In order of preference, until one does not say that the image is not for it. */
  private ImageInfo toTheOne(
      PullRequest request, PlatformAnswer known, Consumer<PullEvent> progress)
      throws InterruptedException {
    List<ContainerRuntime> left = new ArrayList<>(runtimes);
    Optional<AgentException.WrongPlatform> skipped = Optional.empty();
    while (!left.isEmpty()) {
      ContainerRuntime chosen;
      try {
        chosen = choose(left, request, known);
      } catch (AgentException.RouteToPeer e) {
        throw skipped.isPresent() ? skipped.get() : e;
      }
      try {
        return chosen.images().pull(request, progress);
      } catch (AgentException.WrongPlatform e) {
        skipped = skipped.or(() -> Optional.of(e));
        left.remove(chosen);
      }
    }
    throw skipped.orElseThrow();
  }

  private ImageInfo toAll(PullRequest request, Consumer<PullEvent> progress)
      throws InterruptedException {
    Map<String, ImageInfo> pulled = new LinkedHashMap<>();
    Map<String, AgentException> failed = new LinkedHashMap<>();
    for (ContainerRuntime runtime : runtimes) {
      try {
        pulled.put(runtime.name(), runtime.images().pull(request, progress));
      } catch (AgentException e) {
        failed.put(runtime.name(), e);
      }
    }
    if (pulled.isEmpty()) {
      throw mostTelling(failed); // which says it once; who else failed as well adds nothing
    }
    failed.forEach(
        (runtime, e) -> {
          if (!(e instanceof AgentException.WrongPlatform)) {
            reports.trouble(runtime, "pulling image " + request.image(), e);
            progress.accept(
                new PullEvent.Notice(
                    "runtime '%s' could not pull it: %s".formatted(runtime, e.getMessage())));
          }
        });
    return usable(request, pulled, failed);
  }

  /** What came may tell its platform now; then that decides whether its runtime has it. */
  private ImageInfo usable(
      PullRequest request, Map<String, ImageInfo> pulled, Map<String, AgentException> failed) {
    ContainerRuntime runner = choose(runtimes, request, knowledge.of(request.image()));
    ImageInfo image = pulled.get(runner.name());
    AgentException failure = failed.get(runner.name());
    if (image != null) {
      return image;
    }
    if (failure instanceof AgentException.WrongPlatform) {
      return pulled.values().iterator().next();
    }
    throw failure != null ? failure : mostTelling(failed);
  }

  /** The first one that is more than a skip. */
  private static AgentException mostTelling(Map<String, AgentException> failed) {
    return failed.values().stream()
        .filter(e -> !(e instanceof AgentException.WrongPlatform))
        .findFirst()
        .orElseGet(() -> failed.values().iterator().next());
  }

  private static ContainerRuntime choose(
      List<ContainerRuntime> runtimes, PullRequest request, PlatformAnswer known) {
    var wanted =
        new Selection.Request(
            request.image().familiar(),
            Optional.empty(),
            request.platform(),
            request.image(),
            known);
    return RuntimeSelector.choose(runtimes, wanted);
  }
}
