package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** IPv6 in the network namespace in which the calling thread is. */
public final class Ipv6 {
  private static final Path SETTINGS = Path.of("/proc/sys/net/ipv6/conf");

  private Ipv6() {}

  /** Why interfaces that are made now have no IPv6 addresses, if they have none. */
  public static Optional<String> obstacle() {
    if (!Files.isDirectory(SETTINGS)) {
      return Optional.of("the kernel of this host has no IPv6; boot it without ipv6.disable=1");
    }
    for (String scope : List.of("all", "default")) {
      if (read(SETTINGS.resolve(scope).resolve("disable_ipv6")).equals("1")) {
        return Optional.of(
            "IPv6 is disabled on this host; set net.ipv6.conf.%s.disable_ipv6 to 0"
                .formatted(scope));
      }
    }
    return Optional.empty();
  }

  /**
   * Lets interfaces that got their routes from router advertisements keep them when the host begins
   * to forward packets: the kernel ignores advertisements on a router unless told otherwise.
   */
  public static void keepAdvertisedRoutes() throws IOException {
    if (read(SETTINGS.resolve("all/forwarding")).equals("1")) {
      return;
    }
    try (Stream<Path> interfaces = Files.list(SETTINGS)) {
      for (Path one : interfaces.toList()) {
        Path setting = one.resolve("accept_ra");
        boolean general = one.endsWith("all") || one.endsWith("default");
        if (!general && read(setting).equals("1")) {
          Files.writeString(setting, "2");
        }
      }
    }
  }

  private static String read(Path setting) {
    try {
      return Files.readString(setting).strip();
    } catch (IOException _) {
      return ""; // removed meanwhile, or not in this kernel
    }
  }
}
