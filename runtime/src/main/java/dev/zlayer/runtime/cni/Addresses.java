package dev.zlayer.runtime.cni;

import dev.zlayer.container.IpText;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * What the plugin {@code host-local} has given out: a directory per network, in it a file per
 * address whose first line is the slot's id.
 */
final class Addresses {
  /** An address that is taken. */
  record Given(String network, String ip, String slot) {}

  /** Where the plugin notes the last address that it gave. */
  private static final String LAST = "last_reserved_ip.0";

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

  /**
   * Gives a slot the next address of a network after the last one that was given, so that one which
   * was given back is not used again at once.
   *
   * @return empty when all are taken
   */
  synchronized Optional<InetAddress> take(NamedNetwork network, PreparedNamespace slot)
      throws IOException {
    Subnet subnet = network.subnet();
    Path own = Files.createDirectories(directory.resolve(network.name()));
    int hosts = subnet.size() - 2; // without the network's own and that for all
    int last = last(own.resolve(LAST), subnet);
    for (int i = 0; i < hosts; i++) {
      int number = 1 + Math.floorMod(last + i, hosts);
      InetAddress address = subnet.host(number);
      if (!address.equals(network.gateway()) && take(own.resolve(IpText.of(address)), slot)) {
        Files.writeString(own.resolve(LAST), IpText.of(address));
        return Optional.of(address);
      }
    }
    return Optional.empty();
  }

  /** The plugin takes one in this way, too, so that each has one owner. */
  private static boolean take(Path file, PreparedNamespace slot) throws IOException {
    try {
      Files.writeString(
          file,
          slot.id() + "\r\n" + slot.target().interfaceName(),
          StandardOpenOption.CREATE_NEW,
          StandardOpenOption.WRITE);
      return true;
    } catch (FileAlreadyExistsException _) {
      return false;
    } catch (IOException e) {
      Files.deleteIfExists(file); // without an owner nobody would give it back
      throw e;
    }
  }

  /** How many addresses the last one is after that of the network; 0 when none was given. */
  private static int last(Path file, Subnet subnet) throws IOException {
    try {
      // whatever bytes damage has left: no address
      String text = new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
      InetAddress last = InetAddress.ofLiteral(text.strip());
      return subnet.contains(last) ? subnet.position(last) : 0;
    } catch (NoSuchFileException | IllegalArgumentException _) {
      return 0;
    }
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
