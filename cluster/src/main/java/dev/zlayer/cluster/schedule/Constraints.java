package dev.zlayer.cluster.schedule;

import dev.zlayer.oci.Platform;
import dev.zlayer.spec.placement.Affinity;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What a node must be, whatever else runs on it, and which of several fitting nodes is better.
 *
 * @param platforms of the image's manifest, or the one of the spec; one of them suffices, empty
 *     when they are not known yet
 * @param runtime the one that the isolation label names
 * @param labels that a node must have
 * @param preferLabels that make a node better, before anything else
 * @param affinity how replicas spread; a pin is a condition like the labels
 */
public record Constraints(
    List<Platform> platforms,
    Optional<String> runtime,
    Map<String, String> labels,
    Map<String, String> preferLabels,
    Affinity affinity) {
  public static final Constraints NONE =
      new Constraints(List.of(), Optional.empty(), Map.of(), Map.of(), new Affinity.Spread());

  public Constraints {
    platforms = List.copyOf(platforms);
    labels = Map.copyOf(labels);
    preferLabels = Map.copyOf(preferLabels);
  }

  boolean serves(NodeFacts node) {
    return platforms.isEmpty()
        || platforms.stream()
            .anyMatch(image -> node.platforms().stream().anyMatch(own -> own.runs(image)));
  }

  boolean labelled(NodeFacts node) {
    return node.labels().entrySet().containsAll(labels.entrySet());
  }

  /** {@code id=} means the node's id or name; every other key is a label. */
  boolean pinned(NodeFacts node) {
    if (!(affinity instanceof Affinity.Pin(String selector))) {
      return true;
    }
    int sign = selector.indexOf('=');
    String key = selector.substring(0, Math.max(0, sign));
    String value = selector.substring(sign + 1);
    return key.equals("id")
        ? value.equals(node.id()) || value.equals(node.name())
        : value.equals(node.labels().get(key));
  }

  int preferred(NodeFacts node) {
    return (int)
        preferLabels.entrySet().stream().filter(node.labels().entrySet()::contains).count();
  }
}
