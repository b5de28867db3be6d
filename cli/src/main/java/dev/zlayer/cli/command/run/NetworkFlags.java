package dev.zlayer.cli.command.run;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** What it can reach, and how it is reached. */
final class NetworkFlags {
  private static final Pattern PORT =
      Pattern.compile(
          "(?:(?<ip>\\[[0-9a-fA-F:.]+]|[0-9]+(?:\\.[0-9]+){3}):)?(?:(?<host>[0-9]*(?:-[0-9]+)?):)?"
              + "(?<inside>[0-9]+(?:-[0-9]+)?)(?:/(?<protocol>tcp|udp))?");

  @Option(
      names = {"-p", "--publish"},
      paramLabel = "[IP:][PORT:]PORT[/PROTOCOL]",
      description = "Publish a container port on this host")
  List<String> ports = List.of();

  @Option(
      names = "--expose",
      paramLabel = "PORT",
      description = "Declare a port without publishing it")
  List<String> expose = List.of();

  @Option(
      names = {"--network", "--net"},
      paramLabel = "NETWORK",
      description = "Network: bridge, host, none, container:NAME or a network name")
  @Nullable String network;

  @Option(
      names = {"-h", "--hostname"},
      paramLabel = "NAME",
      description = "Container host name")
  @Nullable String hostname;

  @Option(names = "--add-host", paramLabel = "HOST:IP", description = "Add a line to /etc/hosts")
  List<String> hosts = List.of();

  @Option(names = "--dns", paramLabel = "IP", description = "DNS server")
  List<String> dns = List.of();

  void into(Json.Builder body) {
    var mappings = new ArrayList<Json>();
    ports.forEach(port -> mappings.addAll(mappings(port)));
    if (!mappings.isEmpty()) {
      body.put("port_mappings", mappings);
    }
    if (!expose.isEmpty()) {
      body.put("expose", expose);
    }
    body.putIf("network_mode", Optional.ofNullable(network).map(NetworkFlags::mode));
    body.putIf("hostname", Optional.ofNullable(hostname));
    if (!hosts.isEmpty()) {
      body.put("extra_hosts", hosts.stream().map(host -> host.replaceFirst("=", ":")).toList());
    }
    if (!dns.isEmpty()) {
      body.put("dns", dns);
    }
  }

  private static String mode(String text) {
    return switch (text) {
      case "default", "bridge", "host", "none" -> text;
      default ->
          text.startsWith("container:") || text.startsWith("bridge:") ? text : "bridge:" + text;
    };
  }

  /** One mapping, or one for each of a range. */
  static List<Json> mappings(String text) {
    Matcher form = PORT.matcher(text);
    if (!form.matches()) {
      throw new AgentException.InvalidSpec(
          "--publish '%s' is not [IP:][PORT:]PORT[/PROTOCOL], write for example 8080:80"
              .formatted(text));
    }
    int[] inside = range(text, form.group("inside"));
    String named = form.group("host");
    int[] host = named == null || named.isEmpty() ? new int[] {0, 0} : range(text, named);
    if (host[0] != 0 && host[1] - host[0] != inside[1] - inside[0]) {
      throw new AgentException.InvalidSpec(
          "--publish '%s': both port ranges must have the same length".formatted(text));
    }
    var mappings = new ArrayList<Json>();
    for (int i = 0; i <= inside[1] - inside[0]; i++) {
      mappings.add(
          Json.object()
              .put("host_port", host[0] == 0 ? 0 : host[0] + i)
              .put("container_port", inside[0] + i)
              .put("protocol", Optional.ofNullable(form.group("protocol")).orElse("tcp"))
              .putIf(
                  "host_ip",
                  Optional.ofNullable(form.group("ip")).map(ip -> ip.replaceAll("[\\[\\]]", "")))
              .build());
    }
    return mappings;
  }

  private static int[] range(String text, String ports) {
    String[] ends = ports.split("-", 2);
    int from = Integer.parseInt(ends[0]);
    int to = ends.length == 2 ? Integer.parseInt(ends[1]) : from;
    if (from < 1 || to < from || to > 65_535) {
      throw new AgentException.InvalidSpec(
          "--publish '%s': ports are from 1 to 65535, smallest first".formatted(text));
    }
    return new int[] {from, to};
  }
}
