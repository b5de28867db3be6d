package dev.zlayer.runtime.cni;

import dev.zlayer.container.IpText;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;

/**
 * What the plugin {@code host-local} has given out: a directory per network, in it a file per
 * address whose first line is the slot's id.
 */
final class Addresses {
  /** An address that is taken. */
  record Given(String network, String ip, String slot) {}

  private final Path directory;

  Addresses(Path directory) {
    this.directory = directory;
  }

  List<Given> given() throws IOException {
    var given = new ArrayList<Given>();
    for (Path network : children(directory)) {
      for (Path file : children(network)) {
        String ip = file.getFileName().toString();
        if (Character.isDigit(ip.charAt(0)) || Subnet6.looksLike(ip)) {
          try {
            given.add(new Given(network.getFileName().toString(), ip, owner(file)));
          } catch (NoSuchFileException _) {
            // given back while we read, by a plugin that a killed agent had started
          }
        }
      }
    }
    return given;
  }

  /** Addresses given to slots that are not among the known ones. */
  List<Given> strays(Set<String> known) throws IOException {
    return given().stream().filter(one -> !known.contains(one.slot())).toList();
  }

  void release(Given address) throws IOException {
    Files.deleteIfExists(directory.resolve(address.network()).resolve(address.ip()));
  }

  /**
   * Gives back the addresses of a slot whose namespace and cable are gone. They are then all that
   * the plugins would give back, in two processes.
   *
   * @return false when the plugins may have more to do: others are in the chain, or it is not known
   *     how far they came
   */
  boolean release(PreparedNamespace slot) throws IOException {
    if (slot.chain().size() > 1 || slot.network().isEmpty() || slot.ip().isEmpty()) {
      return false;
    }
    Path network = directory.resolve(slot.network().get());
    if (!slot.chain().isEmpty() // it is when its record was damaged and the address is all there is
        && !Path.of(slot.chain().getFirst().at("ipam").at("dataDir").string().orElse(""))
            .equals(directory)) {
      return false;
    }
    for (InetAddress address : slot.addresses()) {
      String ip = IpText.of(address); // as the plugin names its files
      try {
        if (owner(network.resolve(ip)).equals(slot.id())) {
          release(new Given(slot.network().get(), ip, slot.id()));
        }
      } catch (NoSuchFileException _) {
        // it is given back already
      }
    }
    return true;
  }

  private static String owner(Path file) throws IOException {
    // whatever bytes damage has left: an owner that nobody has
    return new String(Files.readAllBytes(file), StandardCharsets.UTF_8)
        .lines()
        .findFirst()
        .orElse("")
        .strip();
  }

  /** For a network that is removed. */
  void forget(String network) throws IOException {
    Path own = directory.resolve(network);
    for (Path file : children(own)) {
      Files.deleteIfExists(file);
    }
    Files.deleteIfExists(own);
  }

  private static List<Path> children(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      return List.of();
    }
    try (var files = Files.list(directory)) {
      return files.sorted(Comparator.naturalOrder()).toList();
    } catch (NoSuchFileException _) {
      return List.of();
    }
  }
}
