package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The kernel's main IPv4 routing table. */
public final class Routes {
  private Routes() {}

  /**
   * One route.
   *
   * @param destination the network's address, first byte in the highest bits
   */
  public record Route(String device, int destination, int prefixLength) {}

  public static List<Route> ipv4() throws IOException {
    return parse(Files.readAllLines(Path.of("/proc/thread-self/net/route")));
  }

  /** Columns: interface, destination, gateway, flags, ..., mask as the eighth. */
  static List<Route> parse(List<String> lines) {
    return lines.stream()
        .skip(1)
        .map(line -> line.strip().split("\\s+", -1))
        .filter(columns -> columns.length >= 8)
        .map(
            columns ->
                new Route(columns[0], address(columns[1]), Integer.bitCount(address(columns[7]))))
        .toList();
  }

  /** The kernel prints the bytes of the wire as a number of the machine. */
  private static int address(String hexadecimal) {
    int number = Integer.parseUnsignedInt(hexadecimal, 16);
    return ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN
        ? Integer.reverseBytes(number)
        : number;
  }
}
