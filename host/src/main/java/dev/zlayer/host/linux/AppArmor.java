package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** What the kernel says about AppArmor. */
public final class AppArmor {
  /** The name that means "no profile". */
  public static final String UNCONFINED = "unconfined";

  private static final Path ENABLED = Path.of("/sys/module/apparmor/parameters/enabled");
  private static final Path PROFILES = Path.of("/sys/kernel/security/apparmor/profiles");

  /** Lets pasta do what it is for; our Debian package brings it. */
  public static final String PASTA_PROFILE = "zlayer-pasta";

  /** Has a directory for each profile, named by it, a dot and a number; everybody may list it. */
  private static final Path LOADED = Path.of("/sys/kernel/security/apparmor/policy/profiles");

  private static final Path PASTA = Path.of("/etc/apparmor.d/abstractions/pasta");

  private AppArmor() {}

  /** Whether the kernel confines processes by profiles, and lets them be listed. */
  public static boolean enabled() {
    return text(ENABLED).map(String::strip).filter("Y"::equals).isPresent()
        && Files.isReadable(PROFILES);
  }

  /** Whether a profile of that name is loaded, in whichever mode. */
  public static boolean loaded(String profile) {
    return text(PROFILES).map(list -> lists(list, profile)).orElse(false);
  }

  /** Each line is a name, a blank and the mode in parentheses. */
  static boolean lists(String profiles, String name) {
    return profiles
        .lines()
        .map(line -> line.substring(0, Math.max(0, line.lastIndexOf(" ("))))
        .anyMatch(name::equals);
  }

  /**
   * Why pasta cannot connect a network of containers, and the remedy; empty when nothing keeps it
   * from that. Debian 12's profile lets it neither open the namespaces of another process nor read
   * the kernel's tables of ports, which it names by a link; {@link #PASTA_PROFILE} does.
   */
  public static Optional<String> pastaObstacle() {
    boolean confines = text(ENABLED).map(String::strip).filter("Y"::equals).isPresent();
    return confines
            && text(PASTA).filter(rules -> !connects(rules)).isPresent()
            && !listed(LOADED, PASTA_PROFILE)
        ? Optional.of(
            "the AppArmor profile of pasta keeps it from networks of other processes; install the"
                + " Debian package of zlayer, which has the profile %s for it, or load that as root (docs/rootless.md)"
                    .formatted(PASTA_PROFILE))
        : Optional.empty();
  }

  static boolean listed(Path profiles, String name) {
    try (Stream<Path> all = Files.list(profiles)) {
      return all.map(path -> path.getFileName().toString())
          .anyMatch(entry -> entry.matches(Pattern.quote(name) + "\\.\\d+"));
    } catch (IOException _) {
      return false; // a kernel without it has no such directory
    }
  }

  /** By the rules of pasta. */
  static boolean connects(String rules) {
    return rules.lines().map(String::strip).anyMatch(line -> line.startsWith("ptrace"));
  }

  private static Optional<String> text(Path file) {
    try {
      return Optional.of(Files.readString(file));
    } catch (IOException _) {
      return Optional.empty(); // a kernel without it has no such file
    }
  }
}
