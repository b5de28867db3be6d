package dev.zlayer.image.store;

import dev.zlayer.oci.Digest;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Who uses images now. Asked anew each time something is about to be taken away. */
@FunctionalInterface
public interface InUse {
  List<Use> uses();

  /**
   * One container.
   *
   * @param image its manifest, where that is known
   * @param layers diff ids of its root file system, lowest first; empty for a module
   */
  record Use(String container, Optional<Digest> image, List<Digest> layers) {
    public Use {
      layers = List.copyOf(layers);
    }

    boolean of(ImageRecord record) {
      return image
          .map(record.manifest()::equals)
          .orElseGet(() -> !layers.isEmpty() && layers.equals(record.diffIds()));
    }
  }

  /** What these and others say. */
  default InUse and(InUse others) {
    return () -> Stream.concat(uses().stream(), others.uses().stream()).toList();
  }

  /**
   * The containers that use this image. Several images can have the same layers, so a use of layers
   * alone counts only if its image is unknown.
   */
  default List<String> usersOf(ImageRecord image) {
    List<Use> all = uses();
    Set<List<Digest>> known =
        all.stream()
            .filter(use -> use.image().isPresent())
            .map(Use::layers)
            .collect(Collectors.toSet());
    return all.stream()
        .filter(use -> use.image().isPresent() || !known.contains(use.layers()))
        .filter(use -> use.of(image))
        .map(Use::container)
        .distinct()
        .toList();
  }
}
