package dev.zlayer.daemon.docker;

import dev.zlayer.error.AgentException;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.Images;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Finds images by name, digest, id, or a unique beginning of an id. */
public final class DockerImageIndex {
  private static final String SHA256 = "sha256:";
  private static final int SHORTEST = 4;

  private final Images images;

  public DockerImageIndex(Images images) {
    this.images = images;
  }

  /**
   * An image as somebody named it.
   *
   * @param reference one that points to it
   */
  public record Found(ImageRef reference, ImageDetails details) {
    /** Its id: the digest of its configuration. */
    public String id() {
      return details.config().toString();
    }
  }

  /** Throws {@link DockerError} when there is none. */
  Found require(String text) {
    return find(text).orElseThrow(() -> DockerError.noSuchImage(tagged(text)));
  }

  /** With the tag that a name without one means. */
  private static String tagged(String text) {
    boolean id = text.startsWith(SHA256) || text.contains("@");
    return id || text.lastIndexOf(':') > text.lastIndexOf('/') ? text : text + ":latest";
  }

  Optional<Found> find(String text) {
    boolean hex = text.matches("(sha256:)?[0-9a-f]{4,64}");
    if (!text.startsWith(SHA256)) {
      Optional<Found> named = named(text);
      if (named.isPresent()) {
        return named;
      }
    }
    return hex
        ? byId(text.startsWith(SHA256) ? text.substring(SHA256.length()) : text)
        : Optional.empty();
  }

  private Optional<Found> named(String text) {
    try {
      ImageRef reference = ImageRef.parse(text);
      return images.find(reference).map(details -> new Found(reference, details));
    } catch (AgentException.InvalidSpec e) {
      if (text.length() >= SHORTEST && text.matches("[0-9a-f]+")) {
        return Optional.empty(); // it may be an id
      }
      throw DockerError.badRequest("invalid reference format: " + e.getMessage());
    }
  }

  private Optional<Found> byId(String prefix) {
    List<Found> all = new ArrayList<>();
    for (ImageInfo info : images.list()) {
      Optional<Found> found = of(info);
      if (found.isPresent()
          && (found.get().details().config().hex().startsWith(prefix)
              || info.digest().hex().startsWith(prefix))) {
        all.add(found.get());
      }
    }
    if (all.stream().map(Found::id).distinct().count() > 1) {
      throw DockerError.badRequest("ambiguous image id prefix: " + prefix);
    }
    return all.stream().findFirst();
  }

  /** One of a listing with all that is known of it. */
  Optional<Found> of(ImageInfo info) {
    for (ImageRef reference : info.references()) {
      Optional<ImageDetails> details = images.find(reference);
      if (details.isPresent()) {
        return Optional.of(new Found(reference, details.get()));
      }
    }
    ImageRef unnamed = dangling(info.digest());
    return images.find(unnamed).map(details -> new Found(unnamed, details));
  }

  /** A reference to an image that no name points to. */
  static ImageRef dangling(Digest digest) {
    return new ImageRef("localhost", "none", Optional.empty(), Optional.of(digest));
  }
}
