package dev.zlayer.cli.print;

import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
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

  /**
   * Published ports, then endpoints of its service: {@code 8080->80/http}, or for this deployment
   * only {@code internal 8080->80/http}.
   */
  public static String of(Json container) {
    var all = new ArrayList<String>();
    container.at("ports").items().forEach(port -> all.add(text(port)));
    container.at("endpoints").items().forEach(endpoint -> all.add(endpoint(endpoint)));
    return all.isEmpty() ? "-" : String.join(", ", all);
  }

  private static String endpoint(Json endpoint) {
    boolean internal = endpoint.at("expose").string().equals(Optional.of("internal"));
    return (internal ? "internal " : "")
        + endpoint.at("port").integer().map(String::valueOf).orElse("?")
        + "->"
        + endpoint.at("target_port").integer().map(String::valueOf).orElse("?")
        + "/"
        + endpoint.at("protocol").string().orElse("tcp");
  }

  private static String bracketed(String address) {
    return address.contains(":") ? "[" + address + "]" : address;
  }

  private static String text(Json port) {
    String address = port.at("host_ip").string().orElse("0.0.0.0");
    String host = port.at("host_port").integer().map(String::valueOf).orElse("?");
    String inside = port.at("container_port").integer().map(String::valueOf).orElse("?");
    return (address.equals("0.0.0.0") ? "" : bracketed(address) + ":")
        + host
        + "->"
        + inside
        + "/"
        + port.at("protocol").string().orElse("tcp");
  }
}
