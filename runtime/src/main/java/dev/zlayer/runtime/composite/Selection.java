package dev.zlayer.runtime.composite;

import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.PlatformAnswer;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Which runtime runs a container. The first of these that says something decides:
 *
 * <ol>
 *   <li>the label {@value #ISOLATION_LABEL}, which names a runtime;
 *   <li>the platform of the spec: the first runtime that serves it;
 *   <li>the platform of the image: the first runtime that serves it;
 *   <li>otherwise the primary, which is the first of all.
 * </ol>
 *
 * <p>A platform that is known and that no runtime here serves is never tried on the primary: that
 * is {@link AgentException.RouteToPeer}.
 */
public final class Selection {
  /** The label that names a runtime; {@code auto} is the same as no label. */
  public static final String ISOLATION_LABEL = "com.zlayer.isolation";

  private static final String AUTOMATIC = "auto";

  private Selection() {}

  /** A runtime as far as the choice needs it. */
  public record Candidate(String name, Capabilities capabilities) {
    boolean serves(Platform platform) {
      return capabilities.serves(platform);
    }

    boolean serves(PlatformAnswer.Recognised image) {
      return capabilities.artifacts().contains(image.kind())
          && image.platforms().stream().anyMatch(this::serves);
    }
  }

  /**
   * What is to be run.
   *
   * @param subject who asks, for messages: a service
   * @param isolation the value of the label
   * @param platform as the spec asks
   * @param known about the image
   */
  public record Request(
      String subject,
      Optional<String> isolation,
      Optional<Platform> platform,
      ImageRef image,
      PlatformAnswer known) {}

  /** The chosen one of {@code candidates}, which are in order of preference and not empty. */
  public static Candidate choose(List<Candidate> candidates, Request request) {
    Optional<String> named =
        request
            .isolation
            .map(label -> label.strip().toLowerCase(Locale.ROOT))
            .filter(label -> !label.isEmpty() && !label.equals(AUTOMATIC));
    if (named.isPresent()) {
      return byName(candidates, named.get(), request);
    }
    if (request.platform.isPresent()) {
      return byPlatform(candidates, request.platform.get(), request);
    }
    return request.known instanceof PlatformAnswer.Recognised image && !image.platforms().isEmpty()
        ? byImage(candidates, image, request)
        : candidates.getFirst();
  }

  private static Candidate byName(List<Candidate> candidates, String name, Request request) {
    Candidate chosen =
        candidates.stream()
            .filter(candidate -> candidate.name.equals(name))
            .findFirst()
            .orElseThrow(
                () ->
                    new AgentException.InvalidSpec(
                        "label %s asks for the runtime '%s', but this node has %s: enable it or change the label"
                            .formatted(ISOLATION_LABEL, name, names(candidates))));
    Optional<String> conflict = conflict(chosen, request);
    if (conflict.isPresent()) {
      throw new AgentException.InvalidSpec(
          "label %s asks for the runtime '%s', which serves %s, but %s"
              .formatted(ISOLATION_LABEL, name, platforms(chosen), conflict.get()));
    }
    return chosen;
  }

  private static Optional<String> conflict(Candidate chosen, Request request) {
    if (request.platform.isPresent()) {
      return request
          .platform
          .filter(platform -> !chosen.serves(platform))
          .map(platform -> "the platform of the spec is " + platform);
    }
    return request.known instanceof PlatformAnswer.Recognised image && !chosen.serves(image)
        ? Optional.of("image '%s' is for %s".formatted(request.image, image.platforms()))
        : Optional.empty();
  }

  /** Prefers one that also takes this kind of image; if none does, the runtime itself says so. */
  private static Candidate byPlatform(
      List<Candidate> candidates, Platform platform, Request request) {
    Predicate<Candidate> kind =
        candidate ->
            !(request.known instanceof PlatformAnswer.Recognised image)
                || candidate.capabilities.artifacts().contains(image.kind());
    return first(candidates, candidate -> candidate.serves(platform) && kind.test(candidate))
        .or(() -> first(candidates, candidate -> candidate.serves(platform)))
        .orElseThrow(
            () ->
                elsewhere(
                    candidates,
                    request,
                    platform.os(),
                    "the platform of the spec is %s".formatted(platform)));
  }

  private static Candidate byImage(
      List<Candidate> candidates, PlatformAnswer.Recognised image, Request request) {
    return first(candidates, candidate -> candidate.serves(image))
        .orElseThrow(
            () ->
                elsewhere(
                    candidates,
                    request,
                    image.platforms().stream()
                        .map(Platform::os)
                        .distinct()
                        .collect(Collectors.joining(" or ")),
                    "image '%s' is for %s".formatted(request.image, joined(image.platforms()))));
  }

  private static AgentException.RouteToPeer elsewhere(
      List<Candidate> candidates, Request request, String os, String cause) {
    String served =
        candidates.stream()
            .map(candidate -> candidate.name + " serves " + platforms(candidate))
            .collect(Collectors.joining(", "));
    return new AgentException.RouteToPeer(
        request.subject,
        os,
        "%s, and no runtime of this node serves that (%s): %s"
            .formatted(cause, served, advice(candidates, os)));
  }

  private static String advice(List<Candidate> candidates, String os) {
    List<String> systems =
        candidates.stream()
            .flatMap(candidate -> candidate.capabilities.platforms().stream())
            .map(Platform::os)
            .distinct()
            .toList();
    if (systems.contains(os)) {
      return "use an image for the architecture of this node, or a peer of that architecture";
    }
    if (os.equals("linux") && systems.stream().allMatch(system -> system.startsWith("wasi"))) {
      // a node that runs modules alone lacks what a Linux runtime needs, not a peer
      return "the agent needs root (or rootless mode) for it; 'zlayer doctor' lists what is"
          + " missing";
    }
    return AgentException.RouteToPeer.remedies(os, "this node");
  }

  private static Optional<Candidate> first(List<Candidate> candidates, Predicate<Candidate> fits) {
    return candidates.stream().filter(fits).findFirst();
  }

  private static String names(List<Candidate> candidates) {
    return candidates.stream().map(Candidate::name).collect(Collectors.joining(", "));
  }

  private static String platforms(Candidate candidate) {
    return joined(List.copyOf(candidate.capabilities.platforms()));
  }

  private static String joined(List<Platform> platforms) {
    return platforms.stream().map(Platform::toString).sorted().collect(Collectors.joining(", "));
  }
}
