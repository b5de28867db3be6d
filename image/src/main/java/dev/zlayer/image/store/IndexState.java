package dev.zlayer.image.store;

import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;

/** All images and references at one moment; immutable. */
public record IndexState(Map<Digest, ImageRecord> images, Map<ImageRef, Target> references) {
  static final IndexState EMPTY = new IndexState(Map.of(), Map.of());

  /**
   * What a reference points to.
   *
   * @param resolved what the registry answered for it: the image, or the index it was chosen from
   */
  public record Target(Digest resolved, Digest image) {}

  public IndexState {
    images = Collections.unmodifiableMap(new LinkedHashMap<>(images));
    references = Collections.unmodifiableMap(new LinkedHashMap<>(references));
  }

  /**
   * The image a reference means. A digest decides by itself, whatever name it was pulled under:
   * content is the same under every name.
   */
  public Optional<ImageRecord> find(ImageRef reference) {
    Target exact = references.get(reference);
    if (exact != null) {
      return Optional.ofNullable(images.get(exact.image()));
    }
    return reference.digest().flatMap(this::find);
  }

  private Optional<ImageRecord> find(Digest digest) {
    return Optional.ofNullable(images.get(digest))
        .or(
            () ->
                references.values().stream()
                    .filter(target -> target.resolved().equals(digest))
                    .findFirst()
                    .map(target -> images.get(target.image())));
  }

  /** What points to the image. */
  public List<ImageRef> referencesOf(Digest image) {
    return references.entrySet().stream()
        .filter(entry -> entry.getValue().image().equals(image))
        .map(Map.Entry::getKey)
        .toList();
  }

  /** With the image, and the reference pointing to it. */
  public IndexState with(ImageRecord image, ImageRef reference, Digest resolved) {
    return with(image)
        .changeReferences(map -> map.put(reference, new Target(resolved, image.manifest())));
  }

  /** With the image, dangling unless something points to it already. */
  public IndexState with(ImageRecord image) {
    var changed = new LinkedHashMap<>(images);
    changed.put(image.manifest(), image);
    return new IndexState(changed, references);
  }

  public IndexState withReference(ImageRef reference, Target target) {
    return changeReferences(map -> map.put(reference, target));
  }

  public IndexState withoutReference(ImageRef reference) {
    return changeReferences(map -> map.remove(reference));
  }

  /** Without the image and whatever points to it. */
  public IndexState without(Digest image) {
    var changed = new LinkedHashMap<>(images);
    changed.remove(image);
    return new IndexState(changed, references)
        .changeReferences(map -> map.values().removeIf(target -> target.image().equals(image)));
  }

  IndexState mapImages(UnaryOperator<ImageRecord> change) {
    var changed = new LinkedHashMap<>(images);
    changed.replaceAll((_, image) -> change.apply(image));
    return new IndexState(changed, references);
  }

  private IndexState changeReferences(java.util.function.Consumer<Map<ImageRef, Target>> change) {
    var changed = new LinkedHashMap<>(references);
    change.accept(changed);
    return new IndexState(images, changed);
  }
}
