package dev.zlayer.cli.print;

import dev.zlayer.json.Json;
import java.util.List;
import java.util.stream.Collectors;

/** Published ports on one line. */
public final class Ports {
  private Ports() {}

  /** {@code 8080->80/tcp}; an address only when it is not every one. */
  public static String text(List<Json> ports) {
    return ports.isEmpty()
        ? "-"
        : ports.stream().map(Ports::text).collect(Collectors.joining(", "));
  }

  private static String text(Json port) {
    String address = port.at("host_ip").string().orElse("0.0.0.0");
    String host = port.at("host_port").integer().map(String::valueOf).orElse("?");
    String inside = port.at("container_port").integer().map(String::valueOf).orElse("?");
    return (address.equals("0.0.0.0") ? "" : address + ":")
        + host
        + "->"
        + inside
        + "/"
        + port.at("protocol").string().orElse("tcp");
  }
}
