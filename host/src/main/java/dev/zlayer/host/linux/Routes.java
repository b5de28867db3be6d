package dev.zlayer.host.linux;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** The kernel's routing tables. */
public final class Routes {
  private Routes() {}

  /**
   * One route.
   *
   * @param destination the network's address, first byte in the highest bits
   */
  public record Route(String device, int destination, int prefixLength) {}

  /** One route of IPv6. */
  public record Route6(String device, InetAddress destination, int prefixLength) {}

  /** Empty on a host without IPv6. */
  public static List<Route6> ipv6() throws IOException {
    Path table = Path.of("/proc/thread-self/net/ipv6_route");
    return Files.exists(table) ? parseIpv6(Files.readAllLines(table)) : List.of();
  }

  /** Columns: destination, its length, source, its length, ..., interface as the last. */
  static List<Route6> parseIpv6(List<String> lines) throws IOException {
    var routes = new ArrayList<Route6>();
    for (String line : lines) {
      String[] columns = line.strip().split("\\s+", -1);
      if (columns.length >= 10 && columns[0].length() == 32) {
        routes.add(
            new Route6(
                columns[9],
                InetAddress.getByAddress(HexFormat.of().parseHex(columns[0])),
                Integer.parseInt(columns[1], 16)));
      }
    }
    return List.copyOf(routes);
  }

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
