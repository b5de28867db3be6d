package dev.zlayer.image.manifest;

import dev.zlayer.oci.Platform;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** Which entry of an index a platform takes. Pure. */
public final class PlatformChoice {
  private PlatformChoice() {}

  /**
   * The best entry that {@code wanted} runs: the same version of the system before another, then
   * the highest variant, then the order of the index. Where nothing matches, an entry that is a
   * WebAssembly module, which no platform binds; else an only entry that does not say what it is
   * for.
   */
  public static Optional<Descriptor> choose(Manifest.Index index, Platform wanted) {
    List<Descriptor> matching =
        index.manifests().stream()
            .filter(entry -> entry.platform().filter(wanted::runs).isPresent())
            .toList();
    Optional<Descriptor> best =
        matching.stream().min(byVersion(wanted).thenComparing(PlatformChoice::higherVariantFirst));
    return best.or(() -> first(index, PlatformChoice::wasm)).or(() -> only(index));
  }

  /** The platforms an index offers, in its order; attachments that are no images are left out. */
  public static List<Platform> platforms(Manifest.Index index) {
    return index.manifests().stream()
        .flatMap(entry -> entry.platform().stream())
        .distinct()
        .toList();
  }

  private static Comparator<Descriptor> byVersion(Platform wanted) {
    return Comparator.comparing(
        entry ->
            wanted.osVersion().isPresent()
                && !wanted.osVersion().equals(entry.platform().orElseThrow().osVersion()));
  }

  private static int higherVariantFirst(Descriptor left, Descriptor right) {
    Platform a = withoutVersion(left);
    Platform b = withoutVersion(right);
    return Boolean.compare(b.runs(a), a.runs(b));
  }

  private static Platform withoutVersion(Descriptor entry) {
    Platform platform = entry.platform().orElseThrow();
    return new Platform(
        platform.os(), platform.architecture(), platform.variant(), Optional.empty());
  }

  private static boolean wasm(Descriptor entry) {
    return entry
        .platform()
        .filter(platform -> platform.architecture().startsWith("wasm"))
        .isPresent();
  }

  private static Optional<Descriptor> first(
      Manifest.Index index, java.util.function.Predicate<Descriptor> filter) {
    return index.manifests().stream().filter(filter).findFirst();
  }

  private static Optional<Descriptor> only(Manifest.Index index) {
    return index.manifests().size() == 1
        ? first(index, entry -> entry.platform().isEmpty())
        : Optional.empty();
  }
}
