package dev.zlayer.oci;

import dev.zlayer.error.AgentException;
import java.util.Locale;
import java.util.Optional;

/** What an image was built for, in the words of the OCI image index. */
public record Platform(
    String os, String architecture, Optional<String> variant, Optional<String> osVersion) {
  public Platform {
    os = canonicalOs(os);
    architecture = canonicalArchitecture(architecture);
    variant = canonicalVariant(architecture, variant);
  }

  /** The usual one is put together at its first use, for which a start of the daemon would wait. */
  @Override
  public int hashCode() {
    return 31 * os.hashCode() + architecture.hashCode();
  }

  public static Platform of(String os, String architecture) {
    return new Platform(os, architecture, Optional.empty(), Optional.empty());
  }

  /** Parses {@code os/arch[/variant]}. */
  public static Platform parse(String text) {
    String[] parts = text.split("/", -1);
    boolean right = parts.length == 2 || parts.length == 3;
    for (String part : parts) {
      right &= part.matches("[A-Za-z0-9_.-]+");
    }
    if (!right) {
      throw new AgentException.InvalidSpec(
          "'" + text + "' is not a platform: write os/architecture, for example linux/amd64");
    }
    return new Platform(
        parts[0],
        parts[1],
        parts.length == 3 ? Optional.of(parts[2]) : Optional.empty(),
        Optional.empty());
  }

  /**
   * Whether a node of this platform can run what was built for {@code image}: same system and
   * architecture, and no variant above the own one.
   */
  public boolean runs(Platform image) {
    return os.equals(image.os)
        && architecture.equals(image.architecture)
        && variantRank() >= image.variantRank()
        && (image.osVersion.isEmpty() || osVersion.isEmpty() || sameBuild(image));
  }

  /** Whether it is what modules are built for, which no machine binds. */
  public boolean webAssembly() {
    return architecture.startsWith("wasm");
  }

  /** Windows images run on hosts of the same build; the fourth number is a patch level. */
  private boolean sameBuild(Platform image) {
    return build(osVersion.orElseThrow()).equals(build(image.osVersion.orElseThrow()));
  }

  private static String build(String version) {
    String[] parts = version.split("\\.", -1);
    return parts.length < 4 ? version : String.join(".", parts[0], parts[1], parts[2]);
  }

  /** A node without a known variant is taken to be able to run any. */
  private int variantRank() {
    return variant
        .filter(v -> v.matches("v[0-9]+"))
        .map(v -> Integer.parseInt(v.substring(1)))
        .orElse(
            switch (architecture) {
              case "arm" -> 7;
              case "arm64" -> 8;
              default -> 1;
            });
  }

  private static String canonicalOs(String os) {
    String lower = os.toLowerCase(Locale.ROOT);
    return lower.equals("macos") ? "darwin" : lower;
  }

  private static String canonicalArchitecture(String architecture) {
    String lower = architecture.toLowerCase(Locale.ROOT);
    return switch (lower) {
      case "x86_64", "x86-64" -> "amd64";
      case "aarch64" -> "arm64";
      case "i386", "i686", "x86" -> "386";
      case "armhf", "armv7l" -> "arm";
      default -> lower;
    };
  }

  private static Optional<String> canonicalVariant(String architecture, Optional<String> variant) {
    return variant
        .map(v -> v.matches("[0-9]+") ? "v" + v : v.toLowerCase(Locale.ROOT))
        .filter(v -> !v.isEmpty())
        .filter(v -> !(architecture.equals("arm64") && v.equals("v8")));
  }

  @Override
  public String toString() {
    return os + "/" + architecture + variant.map(v -> "/" + v).orElse("");
  }
}
